// SPDX-License-Identifier: Apache-2.0
// jetmem-probe: takes memory of each kind that this machine has, uses it, gives it back, and prints
// what happened as one line of JSON.
//
// A process of its own, because a CUDA context costs some 100 MB and a third of a second, and
// because a GPU's driver that hangs takes its caller along, beyond any signal.

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <iterator>
#include <sstream>

#include "probes/program/gpu.h"
#include "probes/program/kinds.h"
#include "probes/program/process_limits.h"
#include "probes/program/report.h"

#ifndef JETMEM_VERSION
#define JETMEM_VERSION "unknown"
#endif

namespace jetmem::probe {
namespace {

// By the numbers of <sysexits.h>.
constexpr int kExitUsage = 64;
constexpr int kExitInternal = 70;
constexpr int kExitIo = 74;
constexpr std::size_t kLongestRequest = 4096;
constexpr double kRequestTimeoutSeconds = 5;

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

struct Kind {
  const char* name;
  void (*probe)(Run&);
  bool of_gpu = true;
};
constexpr Kind kProbes[] = {
    {"host", probe_host, false},
    {"dmabuf", probe_dmabuf, false},
    {"pinned", probe_pinned},
    {"managed", probe_managed},
    {"device", probe_device},
    {"registered", probe_registered},
    {"pool", probe_pool},
    {"dmabuf_export", probe_dmabuf_export},
    {"dmabuf_import", probe_dmabuf_import},
    {"nvbufsurface", probe_nvbufsurface},
    {"eglstream", probe_eglstream},
};
static_assert(std::size(kProbes) == std::size(kKinds), "every kind has its probe");

// One line of words, whole within the patience; false when none came.
bool read_request(std::vector<std::string>& words) {
  const double deadline = seconds_of(CLOCK_BOOTTIME) + kRequestTimeoutSeconds;
  std::string line;
  while (line.find('\n') == std::string::npos) {
    const double left = deadline - seconds_of(CLOCK_BOOTTIME);
    pollfd ready{STDIN_FILENO, POLLIN, 0};
    char bytes[512];
    if (line.size() > kLongestRequest || left <= 0 ||
        ::poll(&ready, 1, static_cast<int>(left * 1000)) <= 0) {
      return false;
    }
    const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (n <= 0) return false;
    line.append(bytes, static_cast<std::size_t>(n));
  }
  std::istringstream in(line.substr(0, line.find('\n')));
  for (std::string word; in >> word;) words.push_back(word);
  return true;
}

// A device that is opened later must not become stdout. Not writable, so that what is
// lost is noticed.
void fill_standard_descriptors() {
  for (int fd = ::open("/dev/null", O_RDONLY); fd >= 0; fd = ::dup(fd)) {
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    break;
  }
}

// Libraries of a driver may print what they like: from here on that goes to stderr, and stdout is
// the result's alone.
std::FILE* keep_stdout() {
  const int own = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  std::FILE* const out = own >= 0 ? ::fdopen(own, "w") : nullptr;
  if (out == nullptr) return stdout;
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return out;
}

void notify(std::FILE* out, const char* what, const std::string& piece) {
  std::fprintf(out, "%s %s\n", what, piece.c_str());
  std::fflush(out);
}

// A library of a driver may crash or hang later on, which then costs only what it was at.
void print_results(Run& run, std::FILE* out) {
  run.when_finished([out, reported_gpu = false](const Result& result) mutable {
    if (gpu_was_queried() && !reported_gpu) {
      reported_gpu = true;
      notify(out, "gpu", gpu_report_json());
    }
    notify(out, "done", result_json(result));
  });
}

int run(std::vector<std::string> arguments) {
  fill_standard_descriptors();
  OptionSource source = OptionSource::kCommandLine;
  if (arguments.size() == 1 && arguments[0] == "--request") {
    source = OptionSource::kRequest;
    arguments.clear();
    if (!read_request(arguments)) {
      std::fputs("jetmem-probe: no request came on stdin\n", stderr);
      return kExitUsage;
    }
  }
  Options options;
  std::string problem;
  switch (parse_options(arguments, source, options, problem)) {
    case Parsed::kHelp:
      std::fputs(kHelp, stdout);
      return 0;
    case Parsed::kVersion:
      std::printf("jetmem-probe %s\n", JETMEM_VERSION);
      return 0;
    case Parsed::kInvalid:
      std::fprintf(stderr, "jetmem-probe: %s\n", problem.c_str());
      return kExitUsage;
    case Parsed::kRun:
      break;
  }
  limit_process(options.deadline_seconds);
  std::FILE* const out = keep_stdout();
  if (options.progress) {
    std::fprintf(out, "%s pid %d\n", kSchema, static_cast<int>(::getpid()));
    std::fflush(out);
  }
  Run run(options, out);
  RunTimes times;
  times.started_boot_seconds = seconds_of(CLOCK_BOOTTIME);
  times.started_wall_seconds = seconds_of(CLOCK_REALTIME);
  run.report_progress("conditions", "", "before", 0);
  times.before = read_conditions();
  if (options.progress) {
    notify(out, "begun", run_header_json(run, times));
    print_results(run, out);
  }
  const auto probe_kinds = [&](bool only_of_gpu) {
    for (const Kind& kind : kProbes) {
      const auto& needed = options.kinds;
      if (std::find(needed.begin(), needed.end(), kind.name) == needed.end()) continue;
      if (only_of_gpu && !kind.of_gpu) continue;
      // Already loading a library may be its last.
      run.report_progress(kind.name, "", "start", 0);
      kind.probe(run);
      run.finish_results();
    }
  };
  probe_kinds(false);
  for (unsigned number = 1; number <= more_gpus(); ++number) {
    use_gpu(number);
    run.set_gpu("gpu" + std::to_string(number));
    probe_kinds(true);
  }
  run.report_progress("conditions", "", "after", 0);
  times.after = read_conditions();
  times.seconds = seconds_of(CLOCK_BOOTTIME) - times.started_boot_seconds;
  std::fprintf(out, "%s\n", report(run, times).c_str());
  // An error of an earlier line stays with the stream.
  if (std::fflush(out) == 0 && std::ferror(out) == 0) return 0;
  std::fputs("jetmem-probe: the result could not be written\n", stderr);
  return kExitIo;
}

}  // namespace
}  // namespace jetmem::probe

int main(int argc, char** argv) {
  try {
    // Without even the program's name there is nothing behind it.
    return jetmem::probe::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "jetmem-probe: %s\n", problem.what());
    return jetmem::probe::kExitInternal;
  }
}
