// SPDX-License-Identifier: Apache-2.0
// The OOM killer (mm/oom_kill.c). What the versions changed: up to 5.0 a kill is reported in two
// lines, "Kill process" with the score and "Killed process" with the sizes; since then in one. The
// victim may be a child of the process that the first line names, so the second line counts.
#include <algorithm>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 13> kOomAnchors{
    " invoked oom-killer: ",
    "Kill process ",
    "Killed process ",
    "oom-kill:constraint=",
    "oom_reaper: reaped ",
    "oom_reaper: unable to reap ",
    " and no killable process",
    "System is deadlocked on memory",
    "panic_on_oom is enabled",
    " killed as a result of limit of ",
    "Memory limit reached of cgroup ",
    "nvmap_alloc_handle+0x",
    "nvmap_ioctl_alloc+0x",
};

// The process that the first of two lines names, where a child of it was killed.
constexpr std::string_view kChosen = "chosen_pid";

Piece invoked(std::string_view text, Event& event) {
  Scan scan(text);
  const auto comm = scan.until_last(" invoked oom-killer: ");
  if (!comm || !is_leading_comm(*comm) || !scan.literal("gfp_mask=")) return {};
  if (!Scan(scan).hex()) return {};
  event.reset(EventKind::kOomInvoked);
  event.set_text("comm", *comm);
  if (const auto gfp = scan.hex(); gfp && !scan.at_end()) {
    if (scan.rest().front() != '(' && scan.rest().front() != ',') return {};
    event.set_text("gfp", *gfp);
  }
  // 4.9 to 4.20 place the nodes before the order: "nodemask=(null),  order=0".
  if (Scan nodes = scan; nodes.past("nodemask=")) {
    if (const auto mask = nodes.until(", ")) event.set_text("nodemask", *mask);
  }
  if (scan.past(" order=")) {
    const auto order = scan.number();
    // Below 0 somebody asked for it with sysrq: the machine is not short of memory.
    if (!order || *order < 0) return {};
    if (scan.literal(",")) event.set_number("order", *order);
  }
  if (scan.past("oom_score_adj=")) take_number(scan, event, "oom_score_adj");
  return {.role = Role::kOpens};  // the state of memory follows
}

// " nvmap_alloc_handle+0x908/0xfa0 [nvmap]", before 4.10 behind " [<ffffff80083c9a28>]": in the
// backtrace below, who wanted the memory is nvmap, for a buffer of GPU, cameras or video.
Piece for_nvmap(std::string_view text, Event& event) {
  Scan scan(text);
  scan.blanks();
  if (scan.literal("[<") && (!scan.hex() || !scan.literal(">] "))) return {};
  if (!scan.literal("nvmap_alloc_handle+0x") && !scan.literal("nvmap_ioctl_alloc+0x")) return {};
  event.reset(EventKind::kOomInvoked);
  event.set_text("allocator", "nvmap");
  return {.role = Role::kFollows, .step = 1, .repeats = true};
}

void set_rss(Event& event, std::string_view text, std::string_view unit) {
  set_sized(event, "anon_rss_kb", text, "anon-rss:", unit);
  set_sized(event, "file_rss_kb", text, "file-rss:", unit);
  set_sized(event, "shmem_rss_kb", text, "shmem-rss:", unit);
}

// Behind "Killed process ".
bool killed(Scan scan, Event& event) {
  if (!take_natural(scan, event, "pid")) return false;
  std::optional<std::int64_t> uid;
  std::optional<std::string_view> comm;
  if (scan.literal(", UID ")) {  // RHEL 6
    uid = scan.number();
    if (!uid || !scan.literal(", (")) return false;
    comm = scan.until_last(") total-vm:");
  } else if (scan.literal(" (")) {
    comm = scan.until_last(") total-vm:");
    if (!comm) comm = scan.until_last(") vsz:");  // 2.6
    if (!comm) {                                  // RHEL 7
      comm = scan.until_last("), UID ");
      uid = comm ? scan.number() : std::nullopt;
      if (!uid || !scan.literal(", total-vm:")) return false;
    }
  }
  if (!comm || !is_comm(*comm)) return false;
  event.set_text("comm", *comm);
  if (!take_count(scan, event, "total_vm_kb") || !scan.literal("kB")) return false;
  set_rss(event, scan.rest(), "kB");
  set_sized(event, "pgtables_kb", scan.rest(), "pgtables:", "kB");
  if (Scan rest = scan; !uid && rest.past("UID:")) {
    uid = rest.number();
    if (!rest.literal(" ")) uid.reset();
  }
  if (uid) event.set_number("uid", *uid);
  if (scan.past("oom_score_adj:")) take_number(scan, event, "oom_score_adj");
  return true;
}

// Behind "Kill process ".
bool chosen(Scan scan, Event& event) {
  const auto pid = scan.number();
  if (!pid || *pid < 0 || !scan.literal(" (")) return false;
  const auto comm = scan.until_last(") score ");
  if (!comm || !is_comm(*comm)) return false;
  event.set_number(kChosen, *pid);
  event.set_number("pid", *pid);
  event.set_text("comm", *comm);
  if (const auto score = scan.number(); score && scan.literal(" ")) {
    event.set_number("score", *score);
  }
  return true;
}

Piece kill(std::string_view text, Event& event) {
  Scan scan(text);
  if (scan.literal("Killed process ")) {
    // Whose limit it was, only the line before says.
    event.reset(EventKind::kOomKill);
    if (!killed(scan, event)) return {};
    return {.role = Role::kFollowsOrOpens,
            .step = 1,
            .last = true,
            .prefer = "pid",
            .stands_alone = true};
  }
  const bool memcg = scan.literal("Memory cgroup out of memory");
  if (!memcg && !scan.literal("Out of memory")) return {};
  if (scan.literal(" (")) {  // "(oom_kill_allocating_task)"
    const auto reason = scan.until(")");
    if (!reason || !is_kernel_words(*reason)) return {};
  }
  if (!scan.literal(": ")) return {};
  if (scan.literal("Killed process ")) {
    event.reset(memcg ? EventKind::kOomKillMemcg : EventKind::kOomKill);
    if (!killed(scan, event)) return {};
    event.set_bool("memcg", memcg);
    return {.role = Role::kWhole};
  }
  if (!scan.literal("Kill process ")) return {};
  // The second line cannot tell the kinds apart, so complete() does.
  event.reset(EventKind::kOomKill);
  if (!chosen(scan, event)) return {};
  event.set_bool("memcg", memcg);
  return {.role = Role::kOpens};
}

// Where ",task=" stands. A task may call itself ",task=init", so the first one within the length of
// a name counts.
std::size_t task_of(std::string_view text) {
  constexpr std::string_view kTask = ",task=";
  constexpr std::size_t kCommSize = 15;
  const std::size_t last = text.rfind(kTask);
  const std::size_t end = std::min(text.rfind(",pid="), text.size());
  const std::size_t reach = kCommSize + kTask.size();
  const std::size_t first = text.find(kTask, end > reach ? end - reach : 0);
  return std::min(first, last);
}

// A control group's path and a task's name may hold commas, so the ends are taken first.
Piece kill_info(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("oom-kill:constraint=")) return {};
  scan.literal("CONSTRAINT_");
  const std::string_view constraint = scan.up_to(",");
  if (constraint.empty()) return {};
  event.reset(EventKind::kOomKillInfo);
  if (!scan.at_end()) event.set_text("constraint", constraint);
  if (scan.literal(",nodemask=")) {
    if (const auto nodes = scan.until(",cpuset=")) {
      event.set_text("nodemask", *nodes);
      if (const auto cpuset = scan.until(",mems_allowed=")) event.set_text("cpuset", *cpuset);
    }
  }
  std::size_t n = 0;
  const std::string_view rest = scan.rest();
  while (n < rest.size() && (is_digit(rest[n]) || rest[n] == '-' || rest[n] == ',')) ++n;
  const bool more = n > 0 && rest[n - 1] == ',';
  // Something always follows: what ends with the line was cut off.
  if (event.has("cpuset") && more) event.set_text("mems_allowed", rest.substr(0, n - 1));
  std::string_view owner = more ? rest.substr(n - 1) : rest;

  const std::size_t task = task_of(owner);
  const bool cut_off = task == std::string_view::npos;
  if (!cut_off) {
    Scan tail(owner.substr(task));
    tail.literal(",task=");
    if (const auto comm = tail.until_last(",pid="); comm && is_comm(*comm)) {
      event.set_text("comm", *comm);
      const auto pid = tail.number();
      if (pid && tail.literal(",uid=")) {
        event.set_number("pid", *pid);
        if (const auto uid = tail.number(); uid && tail.at_end()) event.set_number("uid", *uid);
      }
    }
    owner = owner.substr(0, task);
  }
  Scan groups(owner);
  if (groups.literal(",global_oom")) {
    event.set_bool("global", true);
  } else if (groups.literal(",oom_memcg=")) {
    // Early 5.0 says CONSTRAINT_NONE here too: this is what counts.
    event.set_bool("global", false);
    if (const auto group = groups.until(",task_memcg=")) {
      event.set_text("oom_memcg", *group);
      if (!cut_off) event.set_text("task_memcg", groups.rest());
    } else if (!cut_off) {
      event.set_text("oom_memcg", groups.rest());
    }
    return {.role = Role::kWhole};
  }
  if (!cut_off && groups.literal(",task_memcg=")) event.set_text("task_memcg", groups.rest());
  return {.role = Role::kWhole};
}

// Up to 4.20: "Task in /a/b killed as a result of limit of /a".
Piece limit_info(std::string_view text, Event& event) {
  Scan scan(text);
  if (scan.literal("Memory limit reached of cgroup ")) {
    event.reset(EventKind::kOomKillInfo);
    event.set_bool("global", false);
    event.set_text("oom_memcg", trim(scan.rest()));
    return {.role = Role::kWhole};
  }
  if (!scan.literal("Task in ")) return {};
  const auto task = scan.until(" killed as a result of limit of ");
  if (!task) return {};
  event.reset(EventKind::kOomKillInfo);
  event.set_bool("global", false);
  event.set_text("task_memcg", *task);
  event.set_text("oom_memcg", trim(scan.rest()));
  return {.role = Role::kWhole};
}

Piece reaper(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("oom_reaper: ")) return {};
  const bool reaped = scan.literal("reaped process ");
  if (!reaped && !scan.literal("unable to reap pid")) return {};
  scan.literal(":");  // also in the first line of 4.6
  event.reset(EventKind::kOomReaper);
  if (!take_natural(scan, event, "pid") || !scan.literal(" (")) return {};
  auto comm = reaped ? scan.until_last("), now ") : scan.until_last(")");
  if (reaped && !comm) comm = scan.until_last(") anon-rss");
  if (!comm || !is_comm(*comm)) return {};
  event.set_text("comm", *comm);
  event.set_bool("reaped", reaped);
  set_rss(event, scan.rest(), "kB");
  return {.role = Role::kWhole};
}

Piece no_victim(std::string_view text, Event& event) {
  Scan scan(text);
  const bool panic = scan.literal("Kernel panic - not syncing: ");
  event.reset(EventKind::kOomNoVictim);
  if (panic) event.set_bool("panic", true);
  // "Out of memory: system-wide panic_on_oom is enabled"
  if (panic && scan.literal("Out of memory: ") &&
      contains(scan.rest(), "panic_on_oom is enabled")) {
    event.set_bool("panic_on_oom", true);
    return {.role = Role::kWhole};
  }
  if (scan.literal("Out of memory and no killable process")) return {.role = Role::kOpens};
  if (!scan.literal("System is deadlocked on memory")) return {};
  event.set_bool("deadlocked", true);
  return {.role = Role::kFollowsOrOpens, .step = 1, .last = true};
}

Piece decode_oom(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  return first_piece({kill, kill_info, reaper, no_victim, limit_info, invoked, for_nvmap}, text,
                     event);
}

void complete(Event& event, Soc /*soc*/) {
  if (const auto chosen = event.number(kChosen)) {
    // A child was killed in its place: the score is not the child's.
    if (chosen != event.number("pid")) {
      event.remove("score");
    } else {
      event.remove(kChosen);
    }
  }
  if (event.kind() != EventKind::kOomKill || !event.boolean("memcg").value_or(false)) return;
  Event memcg(EventKind::kOomKillMemcg);
  memcg.merge(event);
  memcg.line = event.line;
  memcg.seq = event.seq;
  memcg.stamp = event.stamp;
  event = memcg;
}

void describe_kill(const Event& event, std::string& out) {
  out += process_in_words(event);
  out += event.has("total_vm_kb") ? " was killed: " : " was chosen to be killed: ";
  const auto memcg = event.boolean("memcg");
  if (!memcg) {
    out += "memory had run out";
  } else {
    out += *memcg ? "its control group reached its memory limit" : "the machine was out of memory";
  }
  if (const auto anon = event.number("anon_rss_kb")) {
    out += "; it held " + size_in_words(*anon) + " of its own";
    const auto shared = event.number("shmem_rss_kb");
    if (shared && *shared > *anon / 4 && *shared >= 1024) {
      out += " and " + size_in_words(*shared) + " shared";
    }
  }
}

void describe_info(const Event& event, std::string& out) {
  const std::string_view group = event.text("oom_memcg");
  if (!group.empty()) {
    out += "the OOM killer acted on the memory limit of control group " + name_in_words(group);
  } else if (event.boolean("global").value_or(false) || event.text("constraint") == "NONE") {
    out += "the OOM killer acted for the whole machine";
  } else if (event.text("constraint") == "CPUSET") {
    out += "the OOM killer acted on the memory nodes of a cpuset";
  } else if (event.text("constraint") == "MEMORY_POLICY") {
    out += "the OOM killer acted on a process' memory policy";
  } else if (event.boolean("global") == false || event.text("constraint") == "MEMCG") {
    out += "the OOM killer acted on the memory limit of a control group";
  } else {
    out += "the OOM killer acted";
  }
  if (event.has("comm")) out += " and chose " + process_in_words(event);
}

void describe_reaper(const Event& event, std::string& out) {
  if (!event.boolean("reaped").value_or(true)) {
    out += "the memory of the killed " + process_in_words(event) + " could not be taken back";
    return;
  }
  out += "the memory of the killed " + process_in_words(event) + " was taken back";
  if (const auto shared = event.number("shmem_rss_kb"); shared && *shared > 0) {
    out += ", but for " + size_in_words(*shared) + " that is shared";
  }
}

void describe_oom(const Event& event, std::string& out) {
  switch (event.kind()) {
    case EventKind::kOomInvoked:
      out += process_in_words(event) + " requested ";
      out += event.text("allocator") == "nvmap" ? "GPU memory (nvmap)" : "memory";
      out += " and none was available";
      if (const auto order = event.number("order")) out += " (" + order_in_words(*order) + ")";
      out += ": the kernel looked for a process to kill";
      break;
    case EventKind::kOomKill:
    case EventKind::kOomKillMemcg:
      describe_kill(event, out);
      break;
    case EventKind::kOomKillInfo:
      describe_info(event, out);
      break;
    case EventKind::kOomReaper:
      describe_reaper(event, out);
      break;
    case EventKind::kOomNoVictim:
      if (event.has("panic_on_oom")) {
        out += "memory ran out and the kernel stopped (panic), because vm.panic_on_oom is set";
        break;
      }
      out += "memory ran out, and there was no process left to kill";
      if (event.boolean("panic").value_or(false)) {
        out += "; the kernel stopped (panic)";
      } else if (event.boolean("deadlocked").value_or(false)) {
        out += "; the kernel gave up";
      }
      break;
    default:
      break;
  }
}

}  // namespace

const Family kOom{.name = "oom",
                  .anchors = kOomAnchors,
                  .decode = decode_oom,
                  .describe = describe_oom,
                  .complete = complete};

}  // namespace jetmem::kernel_log
