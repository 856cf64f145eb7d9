// SPDX-License-Identifier: Apache-2.0
// Holds `jetmem fits` to the truth: seeded processes fragment the memory of a virtual machine, and
// in each round an answer is computed from what jetmem reads and then the memory is really
// requested.
//
//   fits_truth SEED ROUNDS [KIND,KIND... [all]]
//
// Prints the figures of each answer that was wrong, or of all, and a table at the end.
// Kinds: cma, dmabuf (DMA heaps), mlock, and where lab/alloc_probe.c is in the kernel: pinned
// (single pages), contiguous. Requests are made by a child that the OOM killer takes first: killed
// is refused. Page cache, dirty pages too, is of the file system in /fits and its file "data".
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/root/root.h"
#include "collectors/cma/map.h"
#include "collectors/sampler/registry.h"
#include "collectors/sampler/sampler.h"
#include "health/registry.h"
#include "report/fits/fits_answer.h"

namespace {

using jetmem::DeviceNow;
using jetmem::Fit;
using jetmem::FitsAnswer;
using jetmem::MemoryKind;

using Random = std::mt19937;
using Clock = std::chrono::steady_clock;
double since(Clock::time_point time) {
  return std::chrono::duration<double>(Clock::now() - time).count();
}
constexpr std::size_t kPage = 4096;
constexpr const char* kProbe = "/sys/kernel/debug/alloc_probe/";

std::size_t below(Random& random, std::size_t end) { return random() % end; }

void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

void set_oom_score(int score) { write_text("/proc/self/oom_score_adj", std::to_string(score)); }

int open_heap(bool of_cma) {
  const std::array<const char*, 4> cma{"reserved", "default_cma_region", "linux,cma",
                                       "default-pool"};
  if (!of_cma) return ::open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
  for (const char* name : cma) {
    const int fd = ::open((std::string("/dev/dma_heap/") + name).c_str(), O_RDWR | O_CLOEXEC);
    if (fd >= 0) return fd;
  }
  return -1;
}

int take_of_heap(int heap, std::size_t bytes) {
  dma_heap_allocation_data request{};
  request.len = bytes;
  request.fd_flags = O_RDWR | O_CLOEXEC;
  return ::ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &request) == 0 ? static_cast<int>(request.fd) : -1;
}

void* take_anonymous(std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

// One process that takes and gives back, a step at a time.
class Fragmenter {
 public:
  Fragmenter(unsigned seed, int number)
      : random_(seed), number_(number), cma_(open_heap(true)), system_(open_heap(false)) {}

  void step(bool may_take) {
    if (may_take) {
      take(below(random_, 100));
    } else {
      give(below(random_, 100));
    }
  }

 private:
  struct Mapping {
    char* at;
    std::size_t bytes;
  };

  // Small pieces are frequent, large ones rare.
  std::size_t size(std::size_t most) {
    return ((std::size_t{1} << below(random_,
                                     static_cast<std::size_t>(std::log2(most / kPage)) + 1)) +
            below(random_, 7)) *
           kPage;
  }

  void take(std::size_t dice) {
    if (dice < 28) {
      const std::size_t bytes = size(8 << 20);
      auto* at = static_cast<char*>(take_anonymous(bytes));
      if (at == nullptr) return;
      for (std::size_t i = 0; i < bytes; i += kPage) at[i] = 1;
      if (below(random_, 12) == 0) ::mlock(at, bytes);
      mappings_.push_back({at, bytes});
    } else if (dice < 36) {
      put_file("/tmp/", size(2 << 20));
    } else if (dice < 46) {
      put_file("/fits/", size(2 << 20));
      if (below(random_, 4) == 0) ::sync();
    } else if (dice < 66) {
      read_cache();
    } else if (dice < 78) {
      keep(take_of_heap(cma_, size(8 << 20)));
    } else if (dice < 86) {
      keep(take_of_heap(system_, size(4 << 20)));
    } else if (dice < 94) {
      fill_pipe();
    } else if (dice < 97) {
      for (int i = 0; i < 60; ++i) put_file("/tmp/", 0);  // each a dentry that cannot be freed
    } else {
      for (int i = 0; i < 200; ++i) {  // these can
        struct stat none {};
        ::stat(("/fits/none" + std::to_string(random_())).c_str(), &none);
      }
    }
  }

  void give(std::size_t dice) {
    if (dice < 35 && !mappings_.empty()) {
      const std::size_t which = below(random_, mappings_.size());
      Mapping& mapping = mappings_[which];
      if (below(random_, 3) == 0) {  // holes
        for (std::size_t i = 0; i + kPage < mapping.bytes; i += 2 * kPage) {
          ::madvise(mapping.at + i, kPage, MADV_DONTNEED);
        }
      } else {
        ::munmap(mapping.at, mapping.bytes);
        mappings_.erase(mappings_.begin() + static_cast<std::ptrdiff_t>(which));
      }
    } else if (dice < 60 && !files_.empty()) {
      for (int n = 0; n < 20 && !files_.empty(); ++n) {
        const std::size_t which = below(random_, files_.size());
        const bool is_empty = files_[which].ends_with("-0");
        ::unlink(files_[which].c_str());
        files_.erase(files_.begin() + static_cast<std::ptrdiff_t>(which));
        if (!is_empty) break;
      }
    } else if (!fds_.empty()) {
      const std::size_t which = below(random_, fds_.size());
      ::close(fds_[which]);
      fds_.erase(fds_.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }

  void keep(int fd) {
    if (fd >= 0) fds_.push_back(fd);
  }

  void put_file(const std::string& folder, std::size_t bytes) {
    const std::string path = folder + std::to_string(number_) + "-" +
                             std::to_string(files_made_++) + (bytes == 0 ? "-0" : "");
    const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) return;
    static std::array<char, 65536> text{};
    for (std::size_t left = bytes; left > 0;) {
      const ssize_t wrote = ::write(fd, text.data(), std::min(left, text.size()));
      if (wrote <= 0) break;
      left -= static_cast<std::size_t>(wrote);
    }
    ::close(fd);
    files_.push_back(path);
  }

  void read_cache() {
    const int fd = ::open("/fits/data", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    const off_t end = ::lseek(fd, 0, SEEK_END);
    static std::array<char, 262144> text{};
    off_t at = static_cast<off_t>(below(random_, static_cast<std::size_t>(end) / kPage) * kPage);
    for (std::size_t left = size(8 << 20); left > 0;) {
      const ssize_t got = ::pread(fd, text.data(), std::min(left, text.size()), at);
      if (got <= 0) break;
      at += got;
      left -= std::min(left, static_cast<std::size_t>(got));
    }
    ::close(fd);
  }

  void fill_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) != 0) return;
    ::fcntl(ends[1], F_SETPIPE_SZ, 1 << (16 + below(random_, 5)));
    static std::array<char, kPage> text{};
    while (::write(ends[1], text.data(), text.size()) > 0) {
    }
    fds_.push_back(ends[0]);
    fds_.push_back(ends[1]);
  }

  Random random_;
  int number_;
  int cma_;
  int system_;
  std::uint64_t files_made_ = 0;
  std::vector<Mapping> mappings_;
  std::vector<std::string> files_;
  std::vector<int> fds_;
};

struct Child {
  int number = 0;
  int socket = -1;
  pid_t pid = -1;
};

void remove_files_of(int number) {
  for (const char* folder : {"/tmp", "/fits"}) {
    std::error_code error;
    for (const auto& each : std::filesystem::directory_iterator(folder, error)) {
      if (each.path().filename().string().starts_with(std::to_string(number) + "-")) {
        ::unlink(each.path().c_str());
      }
    }
  }
}

Child start_fragmenter(unsigned seed, int number) {
  std::array<int, 2> ends{};
  ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data());
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit files{16384, 16384};
    ::setrlimit(RLIMIT_NOFILE, &files);
    Fragmenter fragmenter(seed, number);
    signed char order = 0;  // so many steps that take, or, below 0, that give back
    while (::read(ends[1], &order, 1) == 1) {
      for (int n = std::abs(order); n > 0; --n) fragmenter.step(order > 0);
      if (::write(ends[1], &order, 1) != 1) break;
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  return {number, ends[0], pid};
}

bool request(const std::string& kind, std::size_t bytes) {
  const auto probe = [](const char* file, std::size_t number) {
    const int fd = ::open((std::string(kProbe) + file).c_str(), O_WRONLY | O_CLOEXEC);
    const std::string text = std::to_string(number);
    return fd >= 0 && ::write(fd, text.data(), text.size()) > 0;
  };
  const std::size_t pages = (bytes + kPage - 1) / kPage;
  if (kind == "cma" || kind == "dmabuf") {
    return take_of_heap(open_heap(kind == "cma"), pages * kPage) >= 0;
  }
  if (kind == "mlock") {
    const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
    ::setrlimit(RLIMIT_MEMLOCK, &all);
    void* at = take_anonymous(pages * kPage);
    return at != nullptr && ::mlock(at, pages * kPage) == 0;
  }
  if (kind == "pinned") return probe("pages", pages);
  std::size_t order = 0;
  while ((std::size_t{1} << order) < pages) ++order;
  return probe("order", order);
}

// A request in a process of its own, which is the first that the OOM killer takes.
bool is_granted(const std::string& kind, std::size_t bytes) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    set_oom_score(1000);
    ::_exit(request(kind, bytes) ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::map<std::string, double> numbers_of(const char* path) {
  std::map<std::string, double> out;
  std::ifstream file(path);
  std::string name;
  for (std::string line; std::getline(file, line);) {
    const std::size_t end = line.find_first_of(": ");
    if (end != std::string::npos) out[line.substr(0, end)] = std::atof(line.c_str() + end + 1);
  }
  return out;
}

// The sources that the answers need, read as jetmemd reads them.
class Reader {
 public:
  Reader() : root_(jetmem::Root::live()) {
    constexpr std::array kNeeded{"meminfo", "zoneinfo", "buddyinfo", "cma", "cma_map"};
    auto sources = jetmem::make_all_sources();
    std::erase_if(sources, [&](const auto& source) {
      return std::find(kNeeded.begin(), kNeeded.end(), source->info().name) == kNeeded.end();
    });
    sampler_ = std::make_unique<jetmem::Sampler>(root_, clock_, table_, std::move(sources),
                                                 jetmem::make_derived_metrics(),
                                                 jetmem::Sampler::Options{.with_timing = false});
  }

  // The map of CMA areas takes the longest, and is of use to one kind only.
  DeviceNow read(bool with_map) {
    for (std::size_t i = 0; i < sampler_->size(); ++i) {
      if (with_map || sampler_->info(i).name != "cma_map") sampler_->collect(i);
    }
    sampler_->finish_cycle();
    DeviceNow out;
    out.samples = jetmem::SampleSet::of(table_);
    const auto* map = sampler_->readings().get<jetmem::CmaMap>();
    if (with_map && map != nullptr) out.cma_map = *map;
    return out;
  }

 private:
  jetmem::Root root_;
  jetmem::SystemClock clock_;
  jetmem::SampleTable table_;
  std::unique_ptr<jetmem::Sampler> sampler_;
};

struct Tally {
  std::uint64_t rounds = 0, right = 0, wrong_yes = 0, wrong_no = 0, failed_at_90 = 0, yes = 0;
  std::uint64_t guesses = 0, guesses_true = 0, unknown = 0;
};

MemoryKind kind_of(const std::string& kind) {
  const std::string name = kind == "mlock" ? "pinned" : kind;
  const auto found = std::find(jetmem::kMemoryKinds.begin(), jetmem::kMemoryKinds.end(), name);
  return static_cast<MemoryKind>(found - jetmem::kMemoryKinds.begin());
}

// What the answer was computed from, in kB; orders as they are.
void print_figures(const DeviceNow& now) {
  for (const char* name :
       {"meminfo_MemFree_bytes", "meminfo_MemAvailable_bytes", "meminfo_CmaTotal_bytes",
        "meminfo_CmaFree_bytes", "meminfo_Active_file_bytes", "meminfo_Inactive_file_bytes",
        "meminfo_Unevictable_bytes", "meminfo_Dirty_bytes", "meminfo_Writeback_bytes",
        "meminfo_SReclaimable_bytes", "cma_used_bytes", "cma_largest_free_run_bytes",
        "zone_watermark_bytes", "zone_watermark_distance_bytes", "zone_free_bytes",
        "zone_free_cma_bytes", "zone_watermark_boost_bytes", "buddy_largest_order_outside_cma"}) {
    const bool is_order = std::string_view(name).find("order") != std::string_view::npos;
    for (const jetmem::Sample& each : now.samples.family("jetmem_" + std::string(name))) {
      std::printf(" %s=%.0f", each.name.key().c_str() + sizeof("jetmem"),
                  is_order ? each.value : each.value / 1024);
    }
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: fits_truth SEED ROUNDS [KIND,KIND... [all]]\n");
    return 2;
  }
  const auto seed = static_cast<unsigned>(std::atoi(argv[1]));
  const int rounds = std::atoi(argv[2]);
  std::vector<std::string> kinds;
  std::string list = argc > 3 ? argv[3] : "cma,dmabuf,mlock,pinned,contiguous";
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string kind = list.substr(at, end - at);
    const bool needs_probe = kind == "pinned" || kind == "contiguous";
    if (!needs_probe || ::access(kProbe, F_OK) == 0) kinds.push_back(kind);
    at = end + 1;
  }
  const bool shows_all = argc > 4;
  set_oom_score(-1000);
  ::mlockall(MCL_CURRENT);
  Random random(seed);
  std::vector<Child> children;
  int number = 0;
  const auto start = [&] {
    ++number;
    return start_fragmenter(seed * 1000 + static_cast<unsigned>(number), number);
  };
  for (int i = 0; i < 6; ++i) children.push_back(start());
  // Without a process that may be killed the kernel would panic.
  pid_t spare = -1;
  const auto keep_spare = [&] {
    if (spare > 0 && ::waitpid(spare, nullptr, WNOHANG) == 0) return;
    spare = ::fork();
    if (spare != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_oom_score(500);
    for (;;) ::pause();
  };
  const auto steps = [&](int order_of) {
    Child& child = children[below(random, children.size())];
    if (below(random, 3000) == 0) {
      ::kill(child.pid, SIGKILL);
      ::waitpid(child.pid, nullptr, 0);
      ::close(child.socket);
      remove_files_of(child.number);
      child = start();
      return;
    }
    auto order = static_cast<signed char>(order_of);
    if (::write(child.socket, &order, 1) != 1 || ::read(child.socket, &order, 1) != 1) {
      std::fprintf(stderr, "a fragmenter has ended\n");
      std::exit(3);
    }
  };
  std::map<std::string, Tally> tallies;
  double target = 100e3;  // kB of MemAvailable, about which the fragmenters stay
  const auto began = Clock::now();
  double read_seconds = 0;
  Reader reader;
  std::uint64_t others_killed = 0;
  for (int round = 0; round < rounds; ++round) {
    keep_spare();
    if (round % 50 == 0) target = 30e3 + 1e3 * static_cast<double>(below(random, 120));
    double available = 0;
    for (int n = 2; n > 0 || available > 1.3 * target; --n) {
      available = numbers_of("/proc/meminfo")["MemAvailable"];
      const int count = available > 1.3 * target ? 10 : 1 + static_cast<int>(below(random, 5));
      const bool may_take = available > 15e3;
      steps(may_take && below(random, 4) < (available > target ? 3U : 1U) ? count : -count);
    }
    std::size_t which = below(random, kinds.size());
    // Its pages are touched one by one: it is asked for rarely, as that takes long.
    if (kinds[which] == "mlock" && below(random, 4) != 0) which = below(random, kinds.size());
    const std::string& kind = kinds[which];
    const auto read_began = Clock::now();
    const DeviceNow now = reader.read(kind == "cma");
    read_seconds += since(read_began);
    const auto most = jetmem::fits_answer(now, kind_of(kind), 0).now_bytes;
    const double factor =
        below(random, 4) == 0 ? 0.9 : 0.5 + static_cast<double>(below(random, 1000)) / 1000;
    double bytes = most.value_or(1 << 20) * factor;
    if (kind == "contiguous" && below(random, 2) == 0) {
      bytes = static_cast<double>(kPage << below(random, 11));
    }
    bytes = std::max(std::floor(bytes / kPage), 1.0) * kPage;
    const FitsAnswer answer = jetmem::fits_answer(now, kind_of(kind), bytes);
    const double killed_before = numbers_of("/proc/vmstat")["oom_kill"];
    bool happened = is_granted(kind, static_cast<std::size_t>(bytes));
    const double killed = numbers_of("/proc/vmstat")["oom_kill"] - killed_before;
    if (happened && killed > 0) {
      happened = false;
      ++others_killed;
    }
    if (round % 100 == 99) {
      std::printf("%d: %.0f s\n", round + 1, since(began));
      std::fflush(stdout);
    }
    Tally& tally = tallies[kind];
    ++tally.rounds;
    const bool is_yes = answer.fit == Fit::kNow;
    tally.yes += is_yes;
    if (answer.fit == Fit::kUnknown) {
      ++tally.unknown;
    } else if (answer.fit == Fit::kAfterMakingRoom) {
      ++tally.guesses;
      tally.guesses_true += happened;
    } else if (is_yes == happened) {
      ++tally.right;
    } else {
      ++(is_yes ? tally.wrong_yes : tally.wrong_no);
      if (is_yes && most && bytes <= *most * 0.9) ++tally.failed_at_90;
    }
    const bool is_wrong = answer.fit == (happened ? Fit::kNo : Fit::kNow);
    if (is_wrong || shows_all) {
      std::printf("%s %s: %s, happened=%d round=%d kB=%.0f most=%.0f room=%.0f killed=%.0f:",
                  is_wrong ? "wrong" : "right", kind.c_str(),
                  std::string(jetmem::fit_name(answer.fit)).c_str(), happened, round, bytes / 1024,
                  most.value_or(-1024) / 1024, answer.room_bytes.value_or(-1024) / 1024, killed);
      print_figures(now);
      std::fflush(stdout);
      // What the kernel has to say to it.
      if (is_wrong) (void)!std::system("dmesg | grep -e ' free:' -e 'cma: ' | tail -n 2");
    }
  }
  utsname system{};
  ::uname(&system);
  std::printf(
      "%s seed %u: %d rounds in %.0f s, %.1f ms to read, %lu requests met by killing another\n",
      system.release, seed, rounds, since(began), 1000 * read_seconds / rounds, others_killed);
  std::printf(
      "| kernel | kind | rounds | yes | right | wrong yes | failed at 90 %% | wrong no | guesses | "
      "came true | unknown |\n");
  for (const auto& [kind, t] : tallies) {
    std::printf("| %s | %s | %lu | %lu | %lu | %lu | %lu | %lu | %lu | %lu | %lu |\n",
                system.release, kind.c_str(), t.rounds, t.yes, t.right, t.wrong_yes, t.failed_at_90,
                t.wrong_no, t.guesses, t.guesses_true, t.unknown);
  }
  for (const Child& child : children) ::kill(child.pid, SIGKILL);
  if (spare > 0) ::kill(spare, SIGKILL);
  return 0;
}
