// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/pids.h"

#include <algorithm>
#include <cerrno>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxProcessName = 64;  // a kernel thread's; a program's has 15 bytes at most
constexpr std::size_t kPidDigits = 4;

bool is_plain(std::string_view name) {
  return name.size() <= kMaxProcessName &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// "1234/"
std::optional<std::uint32_t> take_id(std::string_view& path) {
  const std::size_t slash = path.find('/');
  const auto id = slash > 10 ? std::nullopt : parse_u64(path.substr(0, slash));
  if (!id || *id == 0 || *id > UINT32_MAX) return std::nullopt;
  path.remove_prefix(slash + 1);
  return static_cast<std::uint32_t>(*id);
}

}  // namespace

void keep_pids(std::vector<std::string>& names) {
  std::erase_if(names, [](const std::string& name) {
    return name.empty() || name.front() == '0' || !std::all_of(name.begin(), name.end(), is_digit);
  });
  // Without zeros in front the longer number is the larger.
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
}

bool in_pid_namespace(const Root& root) {
  if (!root.is_live()) return false;
  // include/linux/proc_ns.h: PROC_PID_INIT_INO, the namespace that the kernel begins with.
  constexpr std::string_view kFirst = "pid:[4026531836]";
  std::string ours;
  const int error = root.read_link("/proc/self/ns/pid", ours);
  return error == 0 ? ours != kFirst : error != ENOENT;  // a kernel without such namespaces
}

bool hides_processes(const Root& root, const std::vector<std::string>& pids) {
  return pids.empty() || pids.front() != "1" || in_pid_namespace(root);
}

std::optional<std::uint64_t> hidden_processes(Gatherer& files, std::size_t seen) {
  const std::uint64_t links = files.root().links_of("/proc");
  std::vector<std::string> names;
  if (links == 0 || files.list("/proc", names) != 0) return std::nullopt;
  std::uint64_t own = 2;
  for (const std::string& name : names) {
    if (!is_digit(name.front()) && files.root().links_of("/proc/" + name) > 0) ++own;
  }
  // Mounted with subset=pid it does not show its folders.
  if (own == 2 || links < own) return std::nullopt;
  return links - own > seen ? links - own - seen : 0;
}

std::string living_thread(Gatherer& files, const std::string& process) {
  // The kernel counts its threads in the folder's links (proc_task_getattr): one is the first.
  constexpr std::uint64_t kLinksOfOne = 3;
  const std::string folder = process + "/task";
  std::vector<std::string> threads;
  if (files.root().links_of(folder) <= kLinksOfOne || files.list(folder, threads) != 0) return {};
  for (const std::string& thread : threads) {
    std::string path = folder + "/" + thread;
    if (!files.has_room()) return {};
    const FileText statm = files.read(path + "/statm");
    std::string_view text = statm.text;
    const bool is_alive = statm.ok() && take_u64(text).value_or(0) > 0;
    files.forget();
    if (is_alive) return path;
  }
  return {};
}

std::optional<ProcessFile> process_file(std::string_view path) {
  if (!take_prefix(path, "/proc/")) return std::nullopt;
  const auto pid = take_id(path);
  if (!pid) return std::nullopt;
  ProcessFile file;
  file.pid = *pid;
  std::string_view rest = path;
  if (const auto tid = take_prefix(rest, "task/") ? take_id(rest) : std::nullopt) {
    file.tid = *tid;
    path = rest;
  }
  file.leaf = path.substr(0, path.find('/'));
  file.number = path.substr(std::min(file.leaf.size() + 1, path.size()));
  return file;
}

std::optional<std::string_view> comm_of(std::string_view text) {
  if (text.empty() || text.back() != '\n') return std::nullopt;
  text.remove_suffix(1);
  return text;
}

void assign_kind(std::string& out, std::string_view name) {
  if (is_plain(name)) {
    out.assign(name);
  } else {
    out = printable(name, kMaxProcessName);
  }
  std::size_t digits = 0;
  while (digits < out.size() && is_digit(out[out.size() - digits - 1])) ++digits;
  if (digits < kPidDigits) return;
  out.resize(out.size() - digits);
  out += '*';
}

}  // namespace jetmem
