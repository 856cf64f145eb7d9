// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"
#include "collectors/kernel_log/line/scan.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 6> kStallAnchors{"INFO: task ",
                                                        "BUG: soft lockup - CPU#",
                                                        "Watchdog detected hard LOCKUP on cpu ",
                                                        "INFO: rcu",
                                                        "rcu: ",
                                                        "running task"};

struct Task {
  std::string_view comm;
  std::int64_t pid = 0;
};

// "comm:pid"; the comm itself may contain colons.
std::optional<Task> task_of(std::string_view text) {
  Scan scan(text);
  const auto comm = scan.until_last(":");
  if (!comm || !is_comm(*comm)) return std::nullopt;
  const auto pid = scan.number();
  return pid && scan.at_end() ? std::optional(Task{*comm, *pid}) : std::nullopt;
}

// "kworker/0:1:77 is blocked on a mutex likely owned by task dd:81."; tells what the task above
// waits for.
Piece blocked_on(Scan scan, Event& event) {
  const auto task = task_of(scan.until_last(" is blocked on a").value_or(""));
  if (!task) return {};
  event.reset(EventKind::kHungTask);
  event.set_number("pid", task->pid);
  scan.literal("n");
  scan.blanks();
  const std::string_view lock = scan.up_to(" ,");
  set_if(event, "lock", lock);
  if (scan.past(" by task ")) {
    std::string_view owner = trim(scan.rest());
    // A semaphore that is read and written says which: "dd:81 <writer>".
    owner = owner.substr(0, owner.find(" <"));
    if (!owner.empty() && owner.back() == '.') owner.remove_suffix(1);
    if (const auto found = task_of(owner)) {
      event.set_text("owner_comm", found->comm);
      event.set_number("owner_pid", found->pid);
    }
  }
  return {.role = Role::kFollows, .step = 1, .last = true, .join = "pid"};
}

// "kworker/0:1:77 blocked for more than 120 seconds."
Piece hung_task(Scan scan, Event& event) {
  const std::string_view all = scan.rest();
  auto who = scan.until_last(" blocked for more than ");
  const bool io = !who.has_value();
  if (io) who = scan.until_last(" blocked in I/O wait for more than ");
  if (!who) return blocked_on(Scan(all), event);
  const auto task = task_of(*who);
  const auto seconds = scan.number();
  if (!seconds || !task) return {};
  event.reset(EventKind::kHungTask);
  event.set_text("comm", task->comm);
  event.set_number("pid", task->pid);
  if (scan.literal(" seconds")) event.set_number("seconds", *seconds);
  if (io) event.set_bool("io_wait", true);
  return {.role = Role::kOpens, .join = "pid"};
}

// "CPU#1 stuck for 22s! [dd:81]"
Piece soft_lockup(Scan scan, Event& event) {
  event.reset(EventKind::kSoftLockup);
  if (!take_number(scan, event, "cpu") || !scan.literal(" stuck for ")) return {};
  if (!take_number(scan, event, "seconds") || !scan.literal("s!")) return {};
  scan.blanks();
  if (!scan.literal("[")) return {.role = Role::kWhole};
  if (const auto task = task_of(scan.until_last("]").value_or(""))) {
    event.set_text("comm", task->comm);
    event.set_number("pid", task->pid);
  }
  return {.role = Role::kWhole};
}

Piece hard_lockup(Scan scan, Event& event) {
  event.reset(EventKind::kHardLockup);
  if (!take_number(scan, event, "cpu") || !trim(scan.rest()).empty()) return {};
  return {.role = Role::kWhole};
}

// What the watchdog may put before: "watchdog: ", "NMI watchdog: ", "watchdog: CPU5: ".
void skip_watchdog(Scan& scan) {
  scan.literal("Kernel panic - not syncing: ");
  scan.literal("NMI ");
  scan.literal("watchdog: ");
  const Scan before = scan;
  if (!scan.literal("CPU") || !scan.number() || !scan.literal(": ")) scan = before;
}

// "rcu_preempt self-detected stall on CPU", "rcu_sched detected stalls on CPUs/tasks:"
Piece rcu_stall(Scan scan, Event& event) {
  const std::string_view flavour = scan.up_to(" ");
  if (flavour.substr(0, 3) != "rcu") return {};
  const bool self = scan.literal(" self-detected stall on CPU");
  const bool expedited = !self && scan.literal(" detected expedited stalls on CPUs/tasks");
  if (!self && !expedited && !scan.literal(" detected stalls on ")) return {};
  event.reset(EventKind::kRcuStall);
  event.set_text("flavour", flavour);
  if (expedited) event.set_bool("expedited", true);
  // Before 3.19 or so, all of it is in the one line: "{ 2}  (t=5250 jiffies g=8 c=7 q=5)".
  if (scan.past("(t=") || scan.past(" t=")) {
    const auto jiffies = scan.number();
    if (jiffies && scan.literal(" ")) event.set_number("jiffies", *jiffies);
  }
  return {.role = Role::kOpens};
}

// "rcu: \t2-....: (5249 ticks this GP) idle=..." for each CPU, then
// "rcu: \t(t=5250 jiffies g=8 q=5)" or "rcu: \t(detected by 1, t=5252 jiffies, ...)".
Piece rcu_detail(Scan scan, Event& event) {
  scan.blanks();
  while (scan.literal("\\x09")) scan.blanks();
  // "Unless rcu_preempt kthread gets sufficient CPU time, OOM is now expected behavior."
  if (scan.literal("Unless ")) {
    const std::string_view flavour = scan.up_to(" ");
    if (flavour.substr(0, 3) != "rcu" || !contains(scan.rest(), "OOM is now expected")) return {};
    event.reset(EventKind::kRcuStall);
    event.set_text("flavour", flavour);
    event.set_bool("starved", true);
    return {.role = Role::kFollowsOrOpens, .step = 4, .last = true};
  }
  if (const std::string_view cpu = scan.up_to("-:("); parse_u64(cpu)) {
    if (!scan.literal("-") || !scan.past(": (")) return {};
    event.reset(EventKind::kRcuStall);
    event.add_item("cpus", cpu);
    return {.role = Role::kFollows, .step = 1, .repeats = true};
  }
  if (!scan.literal("(")) return {};
  if (scan.literal("detected by ")) {
    if (!scan.number() || !scan.literal(", ")) return {};
  }
  if (!scan.literal("t=")) return {};
  event.reset(EventKind::kRcuStall);
  if (!take_number(scan, event, "jiffies") || !scan.literal(" jiffies")) return {};
  return {.role = Role::kFollows, .step = 2};
}

// Below "Task dump for CPU 0:", what runs there: "task:cuda-EvtHandlr  state:R  running task
// stack:    0 pid: 2210 ppid: ...", "cuda-EvtHandlr  R  running task        0  2210      1 0x0".
Piece running_task(std::string_view text, Event& event) {
  Scan scan(text);
  const auto before = scan.until("running task");
  if (!before) return {};
  Scan head(trim(*before));
  const bool labelled = head.literal("task:");
  const auto comm = head.until_last(labelled ? " state:R" : " R");
  if (!comm || !head.at_end() || !is_comm(trim(*comm))) return {};
  event.reset(EventKind::kRcuStall);
  event.set_text("comm", trim(*comm));
  if (labelled) {
    if (scan.past(" pid:")) {
      scan.blanks();
      take_natural(scan, event, "pid");
    }
  } else {
    scan.blanks();
    const bool free = scan.number().has_value();
    scan.blanks();
    if (free) take_natural(scan, event, "pid");
  }
  return {.role = Role::kFollows, .step = 3};
}

Piece decode_stall(std::string_view text, Event& event) {
  Scan scan(text);
  if (scan.literal("INFO: task ")) return hung_task(scan, event);
  const bool rcu = scan.literal("rcu: ");
  if (scan.literal("INFO: ")) return rcu_stall(scan, event);
  if (rcu) return rcu_detail(scan, event);
  skip_watchdog(scan);
  if (scan.literal("BUG: soft lockup - CPU#")) return soft_lockup(scan, event);
  if (scan.literal("Watchdog detected hard LOCKUP on cpu ")) return hard_lockup(scan, event);
  return running_task(text, event);
}

void describe_stall(const Event& event, std::string& out) {
  switch (event.kind()) {
    case EventKind::kHungTask:
      out += process_in_words(event);
      out += " has been stuck in the kernel";
      add_number(out, event, "seconds", " for more than ", " seconds");
      if (event.boolean("io_wait").value_or(false)) out += ", waiting for storage";
      add_name(out, event, "lock", ", waiting for a ");
      if (event.text("lock").empty() && event.has("owner_comm")) out += ", waiting for a lock";
      add_name(out, event, "owner_comm", " that is held by ");
      add_number(out, event, "owner_pid", " with PID ");
      break;
    case EventKind::kSoftLockup:
      add_number(out, event, "cpu", "CPU ");
      add_number(out, event, "seconds", " ran nothing else for ", " seconds");
      if (event.has("comm")) out += ", busy in the kernel with " + process_in_words(event);
      break;
    case EventKind::kHardLockup:
      add_number(out, event, "cpu", "CPU ", " hangs and takes no interrupts");
      break;
    case EventKind::kRcuStall: {
      out += "the kernel waits for a CPU or task that holds up RCU";
      add_quote(out, event, "flavour", " (", ")");
      std::string_view before = ", CPU ";
      for (std::size_t i = 0; i < event.size(); ++i) {
        if (event[i].name != "cpus") continue;
        out.append(before).append(event.text_of(event[i]));
        before = ", ";
      }
      if (event.has(Event::kListCut)) out += " and others";
      if (event.has("comm")) out += ", busy with " + process_in_words(event);
      add_number(out, event, "jiffies", ", since ", " jiffies");
      break;
    }
    default:
      break;
  }
}

}  // namespace

const Family kStall{
    .name = "stall", .anchors = kStallAnchors, .decode = decode_stall, .describe = describe_stall};

}  // namespace jetmem::kernel_log
