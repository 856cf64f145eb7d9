// SPDX-License-Identifier: Apache-2.0
#include "collectors/tasks/tasks.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <tuple>

#include "base/text/text.h"
#include "collectors/fields.h"
#include "collectors/processes/group/pid_stat.h"
#include "collectors/processes/group/pids.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

constexpr std::array kTaskMetrics{
    gauge("jetmem_stuck_task_seconds",
          "How long tasks of this name have been stuck in the kernel, in uninterruptible sleep, at "
          "least: the one that is for the longest time. wait_channel is the function of the kernel "
          "it waits in, which names the driver; empty where it is not known. Such a task cannot be "
          "killed. From 30 s on.",
          {"command", "wait_channel"}, Tasks::kMaxStuck),
    gauge("jetmem_stuck_task_pid",
          "PID of the process whose task has been stuck for the longest time: an identifier, not a "
          "quantity.",
          {"command", "wait_channel"}, Tasks::kMaxStuck),
    gauge("jetmem_stuck_tasks",
          "Tasks in uninterruptible sleep for at least 30 s that have not run meanwhile."),
};
constexpr MetricTable task_metric{kTaskMetrics};

// Loads in hundredths, pauses in seconds. One task more that is stuck makes 25 of load in 17 s.
constexpr std::uint64_t kLeastLoad = 20;
constexpr std::uint64_t kRise = 25;
constexpr std::uint64_t kShortestPause = 55;
constexpr std::uint64_t kLongestPause = 180;

// "0.08 0.03 0.05 1/789 12345": hundredths of the first.
std::optional<std::uint64_t> load_of(std::string_view text) {
  const std::string_view word = take_word(text);
  const std::size_t point = word.find('.');
  if (point == std::string_view::npos || word.size() - point != 3) return std::nullopt;
  const auto whole = parse_u64(word.substr(0, point));
  const auto part = parse_u64(word.substr(point + 1));
  if (!whole || !part || *whole > 1'000'000) return std::nullopt;
  return *whole * 100 + *part;
}

class TaskWalk {
 public:
  explicit TaskWalk(Gatherer& files) : files_(files), remembered_(files.remembered()) {}

  void run() {
    const FileText file = files_.read("/proc/loadavg");
    const std::uint64_t load = file.ok() ? load_of(file.text).value_or(kLeastLoad) : kLeastLoad;
    files_.forget();
    const bool is_live = files_.root().is_live();
    if (is_live && load < kLeastLoad) {
      remembered_.clear();
      return note(kNoteTasksIdle, 1);
    }
    if (!is_live || is_due(load)) {
      if (!walk()) return;
      last_walk_ = now_;
      last_load_ = load;
    }
    last_load_ = std::min(last_load_, load);
    const std::vector<std::string> before = std::move(remembered_);
    remembered_ = {std::to_string(last_walk_) + " " + std::to_string(last_load_)};
    for (const std::string& task : blocked_) {
      const bool again = std::find(before.begin(), before.end(), task) != before.end();
      if (take(task, again)) remembered_.push_back(task);
    }
    note(kNoteTasksLookedAt, looked_at_);
    note(kNoteTasksLeftOut, left_out_);
    note(kNoteTasksDenied, denied_);
  }

 private:
  void note(std::string_view what, std::uint64_t number) {
    files_.add(what, std::to_string(number) + "\n");
  }

  // Whether to look at all tasks. If not, those of the reading before are looked at.
  bool is_due(std::uint64_t load) {
    if (remembered_.empty()) return true;
    std::string_view line = remembered_.front();
    last_walk_ = take_u64(line).value_or(0);
    last_load_ = take_u64(line).value_or(0);
    const std::uint64_t since = now_ - last_walk_;
    if (since >= kLongestPause || (since >= kShortestPause && load >= last_load_ + kRise)) {
      return true;
    }
    looked_at_ = 1;  // as far as is of interest
    blocked_.assign(remembered_.begin() + 1, remembered_.end());
    return false;
  }

  bool walk() {
    std::vector<std::string> names;
    if (const int error = files_.list("/proc", names); error != 0) {
      files_.add("/proc", {}, error);
      return false;
    }
    keep_pids(names);
    for (const std::string& pid : names) look_at(pid);
    return true;
  }

  void look_at(const std::string& pid) {
    if (!has_time()) {
      ++left_out_;
      return;
    }
    const std::string process = "/proc/" + pid;
    const auto stat = stat_of(process + "/stat");
    if (!stat) return;
    ++looked_at_;
    if (stat->state == 'D') add(process + "/task/" + pid);
    if (stat->threads.value_or(1) < 2) return;
    if (files_.list(process + "/task", threads_) != 0) return;
    for (const std::string& thread : threads_) {
      if (thread == pid) continue;
      if (!has_time()) {
        ++left_out_;
        continue;
      }
      const std::string task = process + "/task/" + thread;
      const auto its = stat_of(task + "/stat");
      if (its && its->state == 'D') add(task);
    }
  }

  std::optional<PidStat> stat_of(const std::string& path) {
    const FileText file = files_.read(path);
    if (is_denied(file.error)) ++denied_;
    const auto stat = file.ok() ? parse_pid_stat(file.text) : Result<PidStat>(PidStat{});
    const bool is_there = file.ok() && stat;
    files_.forget();
    return is_there ? std::optional(*stat) : std::nullopt;
  }

  void add(const std::string& task) {
    if (blocked_.size() == Tasks::kMaxBlocked) {
      ++left_out_;
    } else {
      blocked_.push_back(task);
    }
  }

  // Once more: most have gone on meanwhile. Where it waits is asked of those only that were so in
  // the reading before.
  bool take(const std::string& task, bool again) {
    const FileText file = files_.read(task + "/stat");
    const auto stat = file.ok() ? parse_pid_stat(file.text) : Result<PidStat>(PidStat{});
    if (!file.ok() || !stat || stat->state != 'D') {
      files_.forget();
      return false;
    }
    files_.read_lines_with(task + "/status", "ctxt_switches", 512);
    if (again || !files_.root().is_live()) files_.read(task + "/wchan");
    return true;
  }

  bool has_time() const { return std::chrono::steady_clock::now() - begin_ < kTasksMostTime; }

  Gatherer& files_;
  std::vector<std::string>& remembered_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::uint64_t now_ = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(begin_.time_since_epoch()).count());
  std::uint64_t last_walk_ = 0;
  std::uint64_t last_load_ = 0;  // the least since then
  std::vector<std::string> threads_;
  std::vector<std::string> blocked_;
  std::uint64_t looked_at_ = 0;
  std::uint64_t left_out_ = 0;
  std::uint64_t denied_ = 0;
};

class TaskFiles {
 public:
  TaskFiles(const Snapshot& snapshot, Tasks& out)
      : snapshot_(snapshot), out_(out), fields_(out.absent) {}

  Result<void> run() {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) take(snapshot_[i]);
    finish();
    if (out_.idle || looked_at_ > 0) return {};
    if (list_error_ != 0) {
      return tl::unexpected(FileText{"/proc", {}, list_error_}.as_error());
    }
    if (out_.denied > 0) return fail(Errc::kDenied, "permission denied for all processes");
    return fail(Errc::kAbsent, "/proc lists no process");
  }

 private:
  void take(const FileText& file) {
    const auto number = [&] { return one_u64(file.text).value_or(0); };
    if (file.path == kNoteTasksIdle) out_.idle = true;
    if (file.path == kNoteTasksLookedAt) looked_at_ = number();
    if (file.path == kNoteTasksLeftOut) out_.left_out = number();
    if (file.path == kNoteTasksDenied) out_.denied = number();
    if (file.path == "/proc") list_error_ = file.error;
    const auto of = process_file(file.path);
    if (!of || of->tid == 0) return;
    if (of->leaf == "stat") {
      finish();
      take_stat(file, of->pid, of->tid);
    } else if (one_.tid != of->tid) {
      return;
    } else if (of->leaf == "status") {
      take_status(file);
    } else if (of->leaf == "wchan") {
      take_wait_channel(file);
    }
  }

  void take_stat(const FileText& file, std::uint32_t pid, std::uint32_t tid) {
    if (!file.ok()) return;
    const auto stat = parse_pid_stat(file.text);
    const std::size_t open = file.text.find('(');
    const std::size_t close = file.text.rfind(')');
    if (!stat || !stat->start_ticks || !stat->utime_ticks || !stat->stime_ticks || close < open) {
      return fields_.lost();
    }
    if (stat->state != 'D') return;
    one_.pid = pid;
    one_.tid = tid;
    one_.start = *stat->start_ticks;
    one_.ran = *stat->utime_ticks + *stat->stime_ticks;
    assign_kind(one_.name, file.text.substr(open + 1, close - open - 1));
  }

  void take_status(const FileText& file) {
    // Of a task that ended meanwhile.
    if (!file.ok()) return;
    Lines lines(file.text);
    std::uint64_t sum = 0;
    int counts = 0;
    for (std::string_view line; lines.next(line);) {
      if (!take_prefix(line, "voluntary_ctxt_switches:") &&
          !take_prefix(line, "nonvoluntary_ctxt_switches:")) {
        continue;
      }
      const auto count = fields_.number(line);
      if (!count) return;
      sum += *count;
      ++counts;
    }
    if (counts != 2) return fields_.lost();
    one_.switches = sum;
    has_switches_ = true;
  }

  void take_wait_channel(const FileText& file) {
    if (!file.ok()) return;
    const std::string_view name = trim(file.text);
    if (name == "0" || name.empty()) {
      out_.absent.add("wait_channel_unknown");
    } else if (is_name(name)) {
      one_.wait_channel = name;
    } else {
      fields_.lost();
    }
  }

  // vfork() and the freezer.
  static bool is_harmless(std::string_view channel) {
    constexpr std::array<std::string_view, 6> kHarmless{"kernel_clone",    "_do_fork",
                                                        "do_fork",         "__refrigerator",
                                                        "do_freezer_trap", "wait_for_vfork_done"};
    // "kernel_clone.isra.0" is the same.
    channel = channel.substr(0, channel.find('.'));
    return std::find(kHarmless.begin(), kHarmless.end(), channel) != kHarmless.end();
  }

  void finish() {
    if (one_.tid != 0 && has_switches_ && !is_harmless(one_.wait_channel)) {
      if (out_.blocked.size() == Tasks::kMaxBlocked) {
        ++out_.left_out;
      } else {
        out_.blocked.push_back(one_);
      }
    }
    one_ = {};
    has_switches_ = false;
  }

  const Snapshot& snapshot_;
  Tasks& out_;
  Fields fields_;
  Tasks::Blocked one_;
  bool has_switches_ = false;
  std::uint64_t looked_at_ = 0;
  int list_error_ = 0;
};

}  // namespace

const SourceInfo TasksSource::kInfo{
    .name = "tasks",
    .what = "tasks that are stuck in the kernel, and in which function of it",
    .access = Access::kReader,
    .interval = std::chrono::seconds(30),
    .shortest_interval = std::chrono::seconds(5),
    .grant = "CAP_SYS_PTRACE for jetmem-reader, or root: without it wait channels are not shown",
    .throttled = true,
    .metrics = kTaskMetrics,
    .limits = kTasksLimits,
    .gather = gather_tasks,
};

TasksSource::TasksSource() : TasksSource(kSystemClock) {}

void gather_tasks(Gatherer& files) { TaskWalk(files).run(); }

Result<void> parse_tasks(const Snapshot& snapshot, Tasks& out) {
  out = {};
  return TaskFiles(snapshot, out).run();
}

Result<void> TasksSource::parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) {
  before_.swap(reading_.blocked);
  auto ok = parse_tasks(snapshot, reading_);
  if (!ok) {
    has_before_ = false;
    return ok;
  }
  if (!has_before_) before_.clear();
  has_two_ = has_before_;
  has_before_ = true;
  find_stuck();
  return {};
}

void TasksSource::find_stuck() {
  const Nanoseconds now = clock_.mono();
  auto& stuck = reading_.stuck;
  for (Tasks::Blocked& task : reading_.blocked) {
    task.since = now;
    for (const Tasks::Blocked& was : before_) {
      const bool is_same = std::tie(was.tid, was.start, was.ran, was.switches) ==
                           std::tie(task.tid, task.start, task.ran, task.switches);
      if (is_same) task.since = was.since;
    }
    const Nanoseconds waited = now - task.since;
    if (waited < Tasks::kLeast) continue;
    ++reading_.stuck_tasks;
    Tasks::Stuck* group = nullptr;
    for (Tasks::Stuck& each : stuck) {
      if (each.name == task.name && each.wait_channel == task.wait_channel) group = &each;
    }
    if (group == nullptr) {
      if (stuck.size() == Tasks::kMaxStuck) {
        reading_.absent.add(kBeyondBound);
        continue;
      }
      group = &stuck.emplace_back();
      group->name = task.name;
      group->wait_channel = task.wait_channel;
    }
    ++group->tasks;
    if (waited > group->longest) {
      group->longest = waited;
      group->pid = task.pid;
    }
  }
  std::sort(stuck.begin(), stuck.end(), [](const Tasks::Stuck& a, const Tasks::Stuck& b) {
    return std::tie(a.name, a.wait_channel) < std::tie(b.name, b.wait_channel);
  });
}

void TasksSource::write(SampleWriter& out, WriteContext& context) const {
  for (const Tasks::Stuck& each : reading_.stuck) {
    out.put(task_metric("jetmem_stuck_task_seconds"), to_seconds(each.longest), each.name,
            each.wait_channel);
    out.put(task_metric("jetmem_stuck_task_pid"), each.pid, each.name, each.wait_channel);
  }
  // Of a part of the tasks there is no number: a stuck one may be among the others.
  const bool knows_all = reading_.left_out == 0 && reading_.denied == 0;
  if (reading_.idle || has_two_) {
    if (knows_all) out.put(task_metric("jetmem_stuck_tasks"), reading_.stuck_tasks);
  } else {
    context.absent.add("needs_two_readings");
  }
  if (reading_.left_out > 0) context.absent.add(kBeyondBound, reading_.left_out);
  if (reading_.denied > 0) context.absent.add("process_denied", reading_.denied);
}

}  // namespace jetmem
