// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/groups.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>

#include "base/text/text.h"
#include "collectors/fields.h"
#include "collectors/proc/zone.h"
#include "collectors/processes/group/cgroup.h"
#include "collectors/processes/group/pids.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

constexpr std::string_view kProc = "/proc";
constexpr std::uint64_t kHiddenByNamespace = 2;  // 1: hidepid
constexpr std::string_view kNoteUnseen = "jetmem:processes unseen";
constexpr std::size_t kMaxProcesses = 16384;
// Resident pages that CPUs have not yet handed in: 32 and more each.
constexpr std::uint64_t kUncountedPages = 1U << 14;
// Longer files of cgroups are cut down to the lines that are of use.
constexpr std::size_t kShortCgroup = 192;

class GroupCollector {
 public:
  GroupCollector(const Snapshot& snapshot, Processes& out) : snapshot_(snapshot), out_(out) {}

  Result<void> run() {
    int list_error = 0;
    for (std::size_t i = 0; i < snapshot_.size(); ++i) {
      const FileText file = snapshot_[i];
      if (file.path == kProc) list_error = file.error;
      take(file);
    }
    finish_process();
    put_together();
    if (!out_.processes.empty()) return {};
    if (list_error != 0) {
      return tl::unexpected(FileText{kProc, {}, list_error}.as_error());
    }
    if (out_.denied > 0)
      return fail(Errc::kDenied, "permission denied for all processes (hidepid)");
    if (out_.malformed > 0) return fail(Errc::kMalformed, "no process could be understood");
    return fail(Errc::kAbsent, "/proc lists no process");
  }

 private:
  void take(const FileText& file) {
    if (file.path == kNoteProcessesDenied) out_.denied = one_u64(file.text).value_or(0);
    if (file.path == kNoteProcessesLeftOut) out_.left_out = one_u64(file.text).value_or(0);
    if (file.path == kNoteProcessesHidden) {
      const std::uint64_t how = one_u64(file.text).value_or(0);
      out_.hidden = how != 0;
      out_.in_namespace = how == kHiddenByNamespace;
    }
    if (file.path == kNoteUnseen) out_.unseen = one_u64(file.text);
    const auto of = process_file(file.path);
    if (!of) return;
    if (of->leaf == "statm") {
      finish_process();
      pid_ = of->pid;
      statm_ = file;
    } else if (pid_ == of->pid && of->leaf == "comm") {
      comm_ = file;
    } else if (pid_ == of->pid && of->leaf == "cgroup") {
      cgroup_ = file;
    }
  }

  // What ended between two files is no process any more.
  static bool is_gone(const FileText& file) { return file.error == ENOENT || file.error == ESRCH; }

  void finish_process() {
    if (statm_.path.empty()) return;
    add_process();
    statm_ = comm_ = cgroup_ = FileText{};
  }

  void add_process() {
    if (is_gone(statm_) || is_gone(comm_)) return;
    if (is_denied(statm_.error) || is_denied(comm_.error)) {
      ++out_.denied;
      return;
    }
    Statm statm;
    const bool has_statm = statm_.ok() && parse_statm(statm_.text, statm, out_.absent);
    const auto comm = comm_.ok() ? comm_of(comm_.text) : std::nullopt;
    if (has_statm && statm.size == 0U) return;
    if (!has_statm || !statm.resident || !comm) {
      ++out_.malformed;
      return;
    }
    ProcessKey key;
    assign_kind(key.command, *comm);
    // Without a cgroup (a kernel without them) it is in none.
    const Cgroup cgroup = cgroup_.ok() ? parse_cgroup(cgroup_.text) : Cgroup{};
    assign_unit_kind(key.unit, cgroup.unit);
    key.container = cgroup.container;
    groups_[std::move(key)].push_back({pid_, 0, *statm.resident, statm.shared});
  }

  void put_together() {
    for (auto& [key, processes] : groups_) {
      Processes::Group& group = out_.groups.emplace_back();
      group.key = key;
      group.processes = processes.size();
      for (Processes::Process& process : processes) {
        process.group = static_cast<std::uint32_t>(out_.groups.size() - 1);
        group.resident_pages += process.resident_pages;
        group.shared_pages += process.shared_pages.value_or(0);
        if (!process.shared_pages) ++group.shared_unknown;
        out_.processes.push_back(process);
      }
      out_.resident_pages += group.resident_pages;
    }
    std::stable_sort(
        out_.processes.begin(), out_.processes.end(),
        [](const Processes::Process& a, const Processes::Process& b) { return a.pid < b.pid; });
  }

  const Snapshot& snapshot_;
  Processes& out_;
  std::uint32_t pid_ = 0;
  FileText statm_;
  FileText comm_;
  FileText cgroup_;
  std::map<ProcessKey, std::vector<Processes::Process>> groups_;
};

}  // namespace

bool parse_statm(std::string_view text, Statm& out, AbsentValues& absent) {
  std::string_view line = one_value(text).value_or(std::string_view());
  Fields fields(absent);
  for (auto* const number : {&out.size, &out.resident, &out.shared}) {
    *number = fields.number(take_word(line), kMaxPages);
  }
  fields.bound(out.resident, out.size, kUncountedPages);
  fields.bound(out.shared, out.resident);
  return fields.finish(text, "size resident shared").has_value();
}

Result<void> parse_processes(const Snapshot& snapshot, Processes& out) {
  out = {};
  return GroupCollector(snapshot, out).run();
}

void gather_processes(Gatherer& files) { gather_processes_within(files, kProcessesMostTime); }

void gather_processes_within(Gatherer& files, std::chrono::nanoseconds most_time) {
  std::vector<std::string> names;
  if (const int error = files.list(kProc, names); error != 0) {
    files.add(kProc, {}, error);
    return;
  }
  // At the bound on names there is at least one more.
  std::uint64_t left_out = names.size() == kProcessesLimits.names ? 1 : 0;
  std::uint64_t denied = 0;
  std::uint64_t taken = 0;
  const auto begin = std::chrono::steady_clock::now();
  keep_pids(names);
  const bool hides = hides_processes(files.root(), names);
  std::optional<std::uint64_t> unseen;
  if (hides) unseen = hidden_processes(files, names.size());
  const bool hidden = hides && unseen.value_or(1) > 0;
  std::string path;
  std::string lines;
  AbsentValues ignored;  // parse_processes() counts them
  for (const std::string& name : names) {
    if (!files.has_room() || taken == kMaxProcesses ||
        std::chrono::steady_clock::now() - begin > most_time) {
      ++left_out;
      continue;
    }
    path.assign("/proc/").append(name);
    std::size_t stem = path.size();
    const FileText statm = files.read(path.append("/statm"));
    Statm pages;
    const bool understood = statm.ok() && parse_statm(statm.text, pages, ignored);
    // Without memory of its own: a kernel thread, what ended, or only its first thread did. Of the
    // others nothing more is asked.
    if (!statm.ok() || (understood && pages.size == 0U)) {
      if (is_denied(statm.error)) ++denied;
      files.forget();
      path.resize(stem);
      if (!understood) continue;
      path = living_thread(files, path);
      if (path.empty()) continue;
      stem = path.size();
      files.read(path.append("/statm"));
    }
    ++taken;
    // Its name is its first thread's.
    files.read("/proc/" + name + "/comm");
    path.resize(stem);
    const FileText cgroup = files.read(path.append("/cgroup"));
    if (!cgroup.ok() || cgroup.text.size() <= kShortCgroup) continue;
    lines.clear();
    append_cgroup_lines(lines, cgroup.text);
    files.forget();
    files.add(path, lines);
  }
  const auto note = [&](std::string_view what, std::uint64_t number) {
    files.add(what, std::to_string(number) + "\n");
  };
  note(kNoteProcessesDenied, denied);
  note(kNoteProcessesLeftOut, left_out);
  note(kNoteProcessesHidden, !hidden ? 0 : in_pid_namespace(files.root()) ? kHiddenByNamespace : 1);
  if (unseen) note(kNoteUnseen, *unseen);
}

}  // namespace jetmem
