// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/process_usage.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

#include "base/root/small_file.h"
#include "base/text/text.h"
#include "base/unique_fd.h"
#include "collectors/processes/group/pid_stat.h"

namespace jetmem {
namespace {

// The text of /proc/<pid>/<name>; empty when the process is gone.
std::string_view read_proc(pid_t pid, const char* name, std::span<char> buffer) {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%d/%s", static_cast<int>(pid), name);
  return read_once(path, buffer);
}

// By getdents64 into the stack: readdir() would allocate on the loop every time.
std::optional<std::uint64_t> count_fds(pid_t pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/fd", static_cast<int>(pid));
  const UniqueFd directory(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return std::nullopt;
  // struct linux_dirent64, which no header declares: 64 bit inode, 64 bit offset, 16 bit length,
  // 8 bit type, name.
  constexpr std::size_t kLengthAt = 16;
  constexpr std::size_t kNameAt = 19;
  alignas(8) char buffer[4096];
  std::uint64_t count = 0;
  for (;;) {
    const long n = ::syscall(SYS_getdents64, directory.get(), buffer, sizeof buffer);
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    for (long at = 0; at < n;) {
      std::uint16_t length = 0;
      std::memcpy(&length, buffer + at + kLengthAt, sizeof length);
      if (buffer[static_cast<std::size_t>(at) + kNameAt] != '.') ++count;
      at += length;
    }
  }
  return pid == ::getpid() && count > 0 ? count - 1 : count;  // less the one used to look
}

}  // namespace

std::optional<ProcessUsage> read_process_usage(const Facts& facts, pid_t pid) {
  char buffer[1024];
  const auto stat = parse_pid_stat(read_proc(pid, "stat", buffer));
  if (!stat) return std::nullopt;
  ProcessUsage out;
  const auto ticks = static_cast<double>(facts.clock_ticks_per_second.value_or(0));
  if (ticks > 0) {
    if (stat->utime_ticks && stat->stime_ticks) {
      out.cpu_seconds = static_cast<double>(*stat->utime_ticks + *stat->stime_ticks) / ticks;
    }
    if (facts.boot_time && stat->start_ticks) {
      out.start_time =
          static_cast<double>(*facts.boot_time) + static_cast<double>(*stat->start_ticks) / ticks;
    }
  }
  out.threads = stat->threads;
  if (facts.page_size) {
    const std::string_view statm = read_proc(pid, "statm", buffer);
    if (const auto pages = parse_resident_pages(statm)) {
      out.resident_bytes = *pages * *facts.page_size;
    }
    if (const auto pages = parse_u64(statm.substr(0, statm.find(' ')))) {
      out.virtual_bytes = *pages * *facts.page_size;
    }
  }
  const std::string_view adjustment = read_proc(pid, "oom_score_adj", buffer);
  if (const auto value = parse_i64(adjustment.substr(0, adjustment.find('\n')))) {
    out.oom_score_adj = *value;
  }
  out.open_fds = count_fds(pid);
  return out;
}

}  // namespace jetmem
