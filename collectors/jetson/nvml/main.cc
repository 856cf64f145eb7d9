// SPDX-License-Identifier: Apache-2.0
// jetmem-nvml: asks NVIDIA's management library for the memory of processes on each GPU, prints
// what it says, and ends.
//
// A process of its own, because the library is large, belongs to the driver, needs the GPU's
// devices and may hang in that driver beyond any signal. It is loaded at run time; no CUDA context
// is made and nothing is changed. The format is described in collectors/jetson/nvml/source.h.

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_codes.h"
#include "base/text/print_error.h"
#include "base/text/text.h"
#include "base/version.h"
#include "collectors/jetson/nvml/parse.h"
#include "collectors/jetson/nvml/program/library.h"

namespace jetmem::nvml {
namespace {

// Whoever started it has given up on it by then.
constexpr unsigned kLongestRun = 20;

constexpr std::string_view kHelp =
    "Usage: jetmem-nvml [--library PATH]\n"
    "\n"
    "Prints what NVIDIA's management library says of each GPU: memory, load, and the memory of\n"
    "processes. jetmemd starts it, or systemd does for jetmemd.\n"
    "\n"
    "  --library PATH  load this in place of libnvidia-ml.so.1; for tests\n"
    "  --help          this text\n"
    "  --version       the version\n";

constexpr unsigned kMaxInList = kMaxProcesses;
// As much as any known version of an entry, so that none can write beyond the end.
constexpr std::size_t kLargestEntry = 64;
constexpr unsigned char kUntouched = 0xA5;
constexpr unsigned long long kNotAvailable = ~0ULL;

void print_error(const std::string& subject, const std::string& code, const std::string& text) {
  std::printf("%s error %s %s\n", subject.c_str(), code.c_str(), printable(text).c_str());
}

class Report {
 public:
  explicit Report(const Library& library) : library_(library) {}

  void print() {
    if (!ask("init", library_.init())) {
      print_device_problem();
      return;
    }
    std::puts("init ok");
    std::array<char, 96> text{};
    if (library_.driver_version != nullptr &&
        ask("driver", library_.driver_version(text.data(), static_cast<unsigned>(text.size())))) {
      print_text("driver", text);
    }
    unsigned count = 0;
    if (ask("gpus", library_.count(&count))) {
      std::printf("gpus ok %u\n", count);
      for (unsigned i = 0; i < count && i < kMaxGpus; ++i) print_gpu(i);
    }
    if (library_.shutdown != nullptr) library_.shutdown();
  }

 private:
  bool ask(const std::string& subject, Return answer) {
    if (answer == kSuccess) return true;
    const char* text = nullptr;
    if (library_.error_string != nullptr) text = library_.error_string(answer);
    print_error(subject, code_name(answer), text == nullptr ? "" : text);
    return false;
  }
  bool have(const std::string& subject, bool function) {
    if (!function) print_error(subject, code_name(kFunctionNotFound), "not in this library");
    return function;
  }

  // NVML says "driver not loaded" also when it may not open the device.
  static void print_device_problem() {
    const int fd = ::open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
    const int error = errno;
    if (fd >= 0) {
      ::close(fd);
    } else if (error == EACCES || error == EPERM) {
      std::printf("device error %s\n", error == EACCES ? "EACCES" : "EPERM");
    }
  }

  template <std::size_t N>
  static void print_text(const std::string& subject, std::array<char, N>& text) {
    text.back() = '\0';
    std::printf("%s ok %s\n", subject.c_str(), printable(text.data()).c_str());
  }

  static void print_bytes(unsigned long long bytes) {
    if (bytes == kNotAvailable) {
      std::fputs(" N/A", stdout);
    } else {
      std::printf(" %llu", bytes);
    }
  }

  void print_gpu(unsigned index) {
    const std::string gpu = "gpu " + std::to_string(index) + " ";
    Device device = nullptr;
    if (!ask(gpu + "handle", library_.handle(index, &device))) return;
    std::array<char, kMaxName> name{};
    if (have(gpu + "name", library_.name != nullptr) &&
        ask(gpu + "name", library_.name(device, name.data(), static_cast<unsigned>(name.size())))) {
      print_text(gpu + "name", name);
    }
    Memory memory{};
    if (have(gpu + "memory", library_.memory != nullptr) &&
        ask(gpu + "memory", library_.memory(device, &memory))) {
      std::printf("%smemory ok", gpu.c_str());
      for (const auto bytes : {memory.total, memory.used, memory.free}) print_bytes(bytes);
      std::puts("");
    }
    memory = {};
    if (have(gpu + "bar1", library_.bar1 != nullptr) &&
        ask(gpu + "bar1", library_.bar1(device, &memory))) {
      std::printf("%sbar1 ok", gpu.c_str());
      print_bytes(memory.total);
      std::puts("");
    }
    Utilization utilization{};
    if (have(gpu + "utilization", library_.utilization != nullptr) &&
        ask(gpu + "utilization", library_.utilization(device, &utilization))) {
      std::printf("%sutilization ok %u %u\n", gpu.c_str(), utilization.gpu, utilization.memory);
    }
    for (const Library::Lists& list : library_.lists) print_processes(gpu, device, list);
  }

  void print_processes(const std::string& gpu, Device device, const Library::Lists& list) {
    const std::string subject = gpu + list.kind;
    if (!have(subject, list.newest != nullptr)) return;
    // Room for some more than there are; processes may come between two questions.
    unsigned room = 64;
    for (;;) {
      entries_.assign(room * kLargestEntry, kUntouched);
      unsigned count = room;
      const Return answer = list.newest(device, &count, entries_.data());
      if (answer == kInsufficientSize && room < kMaxInList) {
        room = count > room && count < kMaxInList / 2 ? count * 2 : kMaxInList;
        continue;
      }
      if (answer == kInsufficientSize) {
        // Of such a list only the length is reported.
        std::printf("%s ok %u v%d\n", subject.c_str(), count, list.version);
        return;
      }
      if (!ask(subject, answer)) return;
      std::printf("%s ok %u v%d\n", subject.c_str(), count, list.version);
      const std::size_t distance = measure(list.version, count < room ? count : room);
      for (unsigned i = 0; i < count && i < room && printed_ < kMaxProcesses; ++i) {
        ProcessV1 process{};
        std::memcpy(&process, entries_.data() + i * distance, sizeof process);
        std::printf("%sprocess %s %u", gpu.c_str(), list.kind, process.pid);
        print_bytes(process.bytes);
        std::puts("");
        ++printed_;
      }
      return;
    }
  }

  // From one entry to the next, by how far the library wrote.
  std::size_t measure(int version, unsigned count) const {
    if (version == 1 || count == 0) return sizeof(ProcessV1);
    const auto untouched = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        if (entries_[i] != kUntouched) return false;
      }
      return true;
    };
    return untouched(count * sizeof(ProcessV2), count * sizeof(ProcessLong)) ? sizeof(ProcessV2)
                                                                             : sizeof(ProcessLong);
  }

  const Library& library_;
  std::vector<unsigned char> entries_;
  unsigned printed_ = 0;
};

// All but the first lines; `path` names the library.
void report(const char* path) {
  Library library;
  bool missing = false;
  std::string why;
  if (!load(path, library, missing, why)) {
    print_error("library", missing ? "MISSING" : "UNUSABLE", why);
    return;
  }
  std::printf("library ok %s\n", printable(path).c_str());
  // If the library hangs from here on, all before it is already reported.
  std::fflush(stdout);
  Report(library).print();
}

int run(int argc, char** argv) {
  const char* library = "libnvidia-ml.so.1";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") {
      std::fputs(kHelp.data(), stdout);
      return 0;
    }
    if (argument == "--version") {
      std::printf("jetmem-nvml %s\n", kVersion);
      return 0;
    }
    if (argument == "--library" && i + 1 < argc && argv[i + 1][0] == '/') {
      library = argv[++i];
      continue;
    }
    jetmem::print_error("jetmem-nvml: unknown or incomplete argument '" + std::string(argument) +
                "'; see --help");
    return kExitUsage;
  }
  ::alarm(kLongestRun);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  std::printf("jetmem-nvml 1\npid %d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
  report(library);
  std::puts("end");
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace jetmem::nvml

int main(int argc, char** argv) { return jetmem::nvml::run(argc, argv); }
