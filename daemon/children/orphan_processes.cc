// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/orphan_processes.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/root/small_file.h"
#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxProcFile = 256U << 10;
constexpr int kMostGenerations = 32;

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;
};

std::string file_of(pid_t pid, const char* name) {
  auto text = read_small_file("/proc/" + std::to_string(pid) + "/" + name, kMaxProcFile);
  return text ? std::move(*text) : std::string();
}

// "4711 (a name) S 1 ...", whatever is in the name. Nothing of one that is gone or a zombie.
std::optional<Process> process_of(pid_t pid) {
  const std::string text = file_of(pid, "stat");
  const std::size_t begin = text.find('(');
  const std::size_t end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || text.size() < end + 5) {
    return std::nullopt;
  }
  const char state = text[end + 2];
  if (state == 'Z' || state == 'X') return std::nullopt;
  std::string_view rest = std::string_view(text).substr(end + 4);
  const auto parent = take_u64(rest);
  if (!parent) return std::nullopt;
  return Process{pid, static_cast<pid_t>(*parent),
                 printable(std::string_view(text).substr(begin + 1, end - begin - 1), 20)};
}

bool has(const std::string& environment, const std::string& marker) {
  const std::string entry = marker + '\0';
  return environment.starts_with(entry) || environment.find('\0' + entry) != std::string::npos;
}

bool descends_from(pid_t ancestor, const Process& process, const std::vector<Process>& all) {
  pid_t parent = process.parent;
  for (int i = 0; i < kMostGenerations; ++i) {
    if (parent == ancestor) return true;
    const auto next =
        std::find_if(all.begin(), all.end(), [&](const Process& one) { return one.pid == parent; });
    if (next == all.end()) return false;
    parent = next->parent;
  }
  return true;  // more than anybody needs; it cannot be counted
}

// Nothing where the list broke off: who is not in it would pass for gone.
std::optional<std::vector<Process>> of_this_user(DIR* proc) {
  std::vector<Process> found;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(proc);
    if (entry == nullptr && errno != 0) return std::nullopt;
    if (entry == nullptr) return found;
    std::string_view name = entry->d_name;
    const auto pid = take_u64(name);
    struct stat status {};
    if (!pid || !name.empty() || ::fstatat(::dirfd(proc), entry->d_name, &status, 0) != 0 ||
        status.st_uid != ::geteuid()) {
      continue;
    }
    if (auto process = process_of(static_cast<pid_t>(*pid))) found.push_back(std::move(*process));
  }
}

std::optional<std::vector<Process>> all_processes() {
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return std::nullopt;
  return of_this_user(proc.get());
}

// In the daemon's control group without descending from it.
bool is_stranger(const Process& process, const std::string& group,
                 const std::vector<Process>& all) {
  const pid_t self = ::getpid();
  return process.pid != self && file_of(process.pid, "cgroup") == group &&
         !descends_from(self, process, all);
}

}  // namespace

void OrphanProcesses::before_start() {
  if (has_own_group_) return;
  has_own_group_ = false;
  const std::string group = file_of(::getpid(), "cgroup");
  const std::string parents = file_of(::getppid(), "cgroup");
  if (group.empty() || parents.empty() || group == parents) return;
  const auto all = all_processes();
  has_own_group_ = all && std::none_of(all->begin(), all->end(), [&](const Process& process) {
                     return is_stranger(process, group, *all);
                   });
}

std::optional<std::size_t> OrphanProcesses::count(std::string& example) const {
  const auto all = all_processes();
  if (!all) return std::nullopt;
  const pid_t self = ::getpid();
  const std::string group = file_of(self, "cgroup");
  std::size_t count = 0;
  for (const Process& process : *all) {
    if (process.pid == self) continue;
    const bool is_marked = has(file_of(process.pid, "environ"), marker_);
    const bool is_left =
        is_marked || (has_own_group_.value_or(false) && is_stranger(process, group, *all));
    if (is_left && ++count == 1) example = process.name + " " + std::to_string(process.pid);
  }
  return count;
}

}  // namespace jetmem
