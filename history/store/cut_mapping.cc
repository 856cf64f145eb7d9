// SPDX-License-Identifier: Apache-2.0
#include "history/store/cut_mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

namespace jetmem {
namespace {

thread_local bool survives = false;
std::atomic<std::uint64_t> cut_pages{0};
std::uintptr_t page_size = 4096;
struct sigaction previous_bus_action;

// Async-signal-safe calls only.
void on_bus_error(int number, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  if (survives && info->si_code == BUS_ADRERR) {
    auto* const page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(info->si_addr) &
                                               ~(page_size - 1));
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
