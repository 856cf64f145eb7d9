// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/process_usage.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "base/root/small_file.h"
#include "base/text/text.h"
#include "collectors/processes/group/pid_stat.h"

namespace jetmem {
namespace {

// The text of /proc/<pid>/<name>; empty when the process is gone.
std::string_view read_proc(pid_t pid, const char* name, std::span<char> buffer) {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%d/%s", static_cast<int>(pid), name);
  return read_once(path, buffer);
}

std::optional<std::uint64_t> count_fds(pid_t pid) {
  std::error_code error;
  std::uint64_t count = 0;
  std::filesystem::directory_iterator each("/proc/" + std::to_string(pid) + "/fd", error);
  for (; !error && each != std::filesystem::directory_iterator(); each.increment(error)) ++count;
  if (error) return std::nullopt;
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
