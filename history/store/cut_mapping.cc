// SPDX-License-Identifier: Apache-2.0
#include "history/store/cut_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string_view>

namespace jetmem {
namespace {

thread_local bool survives = false;
std::atomic<std::uint64_t> cut_pages{0};
std::uintptr_t page_size = 4096;
struct sigaction previous_bus_action;

// A line of /proc/self/maps, "start-end rw-s ... PATH", is read byte by byte: a path can be of any length.
class MapsLine {
 public:
  // True at the end of a line.
  bool add(char c) {
    if (c == '\n') return true;
    if (field_ < 2) {
      const int digit = digit_of(c);
      if (digit >= 0) {
        bounds_[field_] = bounds_[field_] * 16 + static_cast<unsigned>(digit);
      } else {
        ++field_;
      }
    }
    for (std::size_t i = 1; i < sizeof end_; ++i) end_[i - 1] = end_[i];
    end_[sizeof end_ - 1] = c;
    return false;
  }
  bool is_index_with(std::uintptr_t address) const {
    const std::string_view end(end_, sizeof end_);
    return address >= bounds_[0] && address < bounds_[1] &&
           (end.ends_with("-shm") || end.ends_with("-shm (deleted)"));
  }

 private:
  static int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  }

  std::uintptr_t bounds_[2] = {0, 0};
  std::size_t field_ = 0;
  char end_[sizeof "-shm (deleted)" - 1] = {};
};

// Whether an index of a WAL is mapped there: another file's page must not turn into zeros.
bool is_wal_index(std::uintptr_t address) {
  const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char piece[1024];
  MapsLine line;
  bool found = false;
  for (ssize_t n = 0; !found && (n = ::read(fd, piece, sizeof piece)) > 0;) {
    for (ssize_t i = 0; i < n && !found; ++i) {
      if (!line.add(piece[i])) continue;
      found = line.is_index_with(address);
      line = MapsLine();
    }
  }
  ::close(fd);
  return found;
}

// Async-signal-safe calls only.
void on_bus_error(int number, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (survives && info->si_code == BUS_ADRERR && is_wal_index(address)) {
    auto* const page = reinterpret_cast<void*>(address & ~(page_size - 1));
    const void* mapped = ::mmap(page, page_size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    errno = error;
    if (mapped != MAP_FAILED) {
      ++cut_pages;
      return;
    }
  }
  // Touched again, it ends as it would have without us.
  ::sigaction(number, &previous_bus_action, nullptr);
}

bool install_bus_handler() {
  page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  return ::sigaction(SIGBUS, &action, &previous_bus_action) == 0;
}

}  // namespace

void survive_cut_mappings() {
  static const bool installed = install_bus_handler();
  survives = installed;
}

std::uint64_t cut_mappings() { return cut_pages; }

}  // namespace jetmem
