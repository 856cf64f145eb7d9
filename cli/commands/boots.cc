// SPDX-License-Identifier: Apache-2.0
// jetmem boots: why the device restarted, and what had changed before.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/root/small_file.h"
#include "base/text/text.h"
#include "cli/client/device_client.h"
#include "cli/client/local_snapshot.h"
#include "cli/commands.h"
#include "cli/draw/since.h"
#include "cli/exit_codes.h"
#include "cli/text/events/event_text.h"
#include "collectors/device/boot/reset_reason.h"
#include "collectors/device/boot/restart_summary.h"
#include "collectors/device/boot/source.h"
#include "report/answers/answer_head.h"

namespace jetmem {

// describe() is looked up in the namespace of its type.
namespace boot {

static void describe(json::Fields& v, Moment& moment) {
  if (moment.plausible()) v.output("time", utc_time(std::chrono::seconds(moment.wall)));
  v("since_boot_seconds", moment.uptime);
}

static void describe(json::Fields& v, Boot& boot) {
  v("boot", boot.number);
  v("boot_id", boot.id);
  v("first_seen", boot.first);
  v("last_seen", boot.last);
  v.output("ended", std::string(device_end_name(boot.end)));
  if (!boot.reset_reason.empty()) {
    v("reset_reason", boot.reset_reason);
    v("reset_level", boot.reset_level);
    v.output("reset_cause", std::string(reset_cause_name(cause_of_reset(boot.reset_reason))));
  }
  v.unless_empty("crash_recorded", boot.crash);
  v("jetmem_starts", boot.starts);
  if (boot.starts_are_least) v("jetmem_starts_are_least", boot.starts_are_least);
  v("jetmem_unclean_stops", boot.unclean_runs);
  for (const What what : {What::kKernel, What::kL4t, What::kPowerMode, What::kVersion}) {
    const std::string name(what == What::kVersion ? "jetmem_version" : what_name(what));
    v.unless_empty(name.c_str(), boot.values[static_cast<std::size_t>(what)]);
  }
}

static void describe(json::Fields& v, boot::Change& change) {
  v("boot", change.boot);
  v("at", change.at);
  v.output("what", std::string(what_name(change.what)));
  v("from", change.from);
  v("to", change.to);
}

static void describe(json::Fields& v, Mark& mark) {
  v("at", mark.at);
  v("boot_id", mark.boot);
  v("text", mark.text);
}

}  // namespace boot

static void describe(json::Fields& v, PstoreRecord& record) {
  v("name", record.name);
  v.output("place", std::string(record.archived ? "archive" : "pstore"));
  v.output("kind", std::string(pstore_kind_name(record.kind)));
  v.unless_empty("line", record.line);
}

namespace {

using boot::Boot;
using boot::DeviceEnd;
using boot::Mark;
using boot::Moment;
using boot::What;

constexpr std::size_t kMaxHistory = 256U << 10;
constexpr std::size_t kMaxTrouble = 300;
constexpr std::chrono::minutes kSignOfLife{15};  // of jetmemd's history

struct BootsOptions : Target {
  std::string state_directory;
};

// What is known, from wherever.
struct Known {
  const BootFacts* facts = nullptr;  // null: unavailable
  const boot::History* history = nullptr;
  const boot::Marks* marks = nullptr;
  std::string problem;         // why there is no history
  Errc code = Errc::kAbsent;   // of the problem
  bool is_unreadable = false;  // there is one, or may be

  void lacks(const Error& error) {
    problem = printable(error.message, kMaxTrouble);
    code = error.code;
    is_unreadable = error.code != Errc::kAbsent;
    if (error.code == Errc::kDenied) problem += "; try sudo jetmem boots";
  }
};

// How long a boot was seen to run.
std::string ran(const Boot& boot) {
  return boot::duration_text(static_cast<std::int64_t>(boot.last.uptime));
}

std::string boots_json(const Known& known) {
  return json::write_document(2, [&](json::Fields& v) {
    std::vector<Boot> boots;
    std::vector<boot::Change> changes;
    if (known.history != nullptr) {
      const boot::RestartSummary summary = restart_summary(*known.history, kSignOfLife);
      v.output("reason", summary.text);
      v.output("worrying", summary.worrying);
      if (const auto down = seconds_down(*known.history)) v.output("downtime_seconds", *down);
      boots.assign(known.history->boots.rbegin(), known.history->boots.rend());
      changes.assign(known.history->changes.rbegin(), known.history->changes.rend());
    }
    v("boots", boots);
    v("changes", changes);
    std::vector<Mark> marks;
    if (known.marks != nullptr) marks.assign(known.marks->list.rbegin(), known.marks->list.rend());
    for (Mark& mark : marks) {
      if (known.history != nullptr) mark.at = from_last_clock(*known.history, mark.boot, mark.at);
    }
    v("marks", marks);
    Absences absent;
    if (known.facts != nullptr) {
      std::vector<PstoreRecord> records = known.facts->records;
      v("pstore_records", records);
    } else {
      absent.emplace_back("pstore_records", "only jetmem boots on that machine reads them");
    }
    if (known.history == nullptr) absent.emplace_back("boots", known.problem);
    v.absent(absent);
  });
}

// A change or mark within a boot.
struct Aside {
  Moment at;
  std::string text;
};

std::vector<Aside> asides(const Known& known, const Boot& boot) {
  std::vector<Aside> all;
  for (const boot::Change& change : known.history->changes) {
    if (change.boot == boot.number) all.push_back({change.at, change_text(change)});
  }
  if (known.marks != nullptr) {
    for (const Mark& mark : known.marks->list) {
      if (mark.boot == boot.id) {
        all.push_back({from_last_clock(*known.history, mark.boot, mark.at), "mark: " + mark.text});
      }
    }
  }
  // Within one boot its own clock has the order.
  std::stable_sort(all.begin(), all.end(),
                   [](const Aside& a, const Aside& b) { return a.at.uptime > b.at.uptime; });
  return all;
}

void print_boot(const Known& known, std::size_t i) {
  const boot::History& history = *known.history;
  const Boot& boot = history.boots[i];
  Moment began = boot.first;
  if (const auto at = boot::began(boot.last)) began.wall = *at;
  std::string head = "boot " + std::to_string(boot.number) + "  " + moment_text(began);
  if (boot.end == DeviceEnd::kNotYet) {
    head += "  running for " + ran(boot);
  } else {
    head += "  ran " + ran(boot) + ", then: ";
    head += end_text(boot);
    if (i + 1 < history.boots.size()) {
      const Boot& next = history.boots[i + 1];
      if (!next.reset_reason.empty()) head += "; " + boot::reset_text(next.reset_reason);
      if (!next.crash.empty()) head += "; " + next.crash;
    }
  }
  put(wrapped(head, 0));
  std::string more;
  const std::string& kernel = boot.values[static_cast<std::size_t>(What::kKernel)];
  const std::string& l4t = boot.values[static_cast<std::size_t>(What::kL4t)];
  if (!kernel.empty()) more += "kernel " + kernel + "; ";
  if (!l4t.empty()) more += "L4T " + l4t + "; ";
  more += "jetmemd started " + std::string(boot.starts_are_least ? "at least " : "") +
          counted(boot.starts, "time");
  if (boot.unclean_runs > 0) {
    more += ", " + std::to_string(boot.unclean_runs) + " of them after a kill or crash";
  }
  put(wrapped(more, 4));
  for (const Aside& aside : asides(known, boot)) {
    put(wrapped(moment_text(aside.at) + "  " + aside.text, 4));
  }
}

void print_records(const BootFacts& facts) {
  if (facts.backend == "none") {
    put(wrapped("A panic would leave no record: the kernel has no pstore backend.", 0));
  }
  if (facts.records.empty()) return;
  put("\nRecords of pstore, of any age:\n");
  for (const PstoreRecord& record : facts.records) {
    std::string text = record.name + " (" + std::string(pstore_kind_name(record.kind));
    if (record.archived) text += ", moved by systemd-pstore";
    text += ")";
    if (!record.line.empty()) text += ": " + record.line;
    put(wrapped(text, 2));
  }
}

void print_text(const Known& known) {
  if (known.history == nullptr) {
    // Else the problem is on stderr.
    if (!known.is_unreadable)
      put(wrapped("There is no history of boots: " + known.problem + ".", 0));
    if (known.facts != nullptr && !known.facts->reset_reason.empty()) {
      put(wrapped("Before this boot: " + boot::reset_text(known.facts->reset_reason) + ".", 0));
    }
    if (known.facts != nullptr) print_records(*known.facts);
    return;
  }
  const boot::History& history = *known.history;
  std::string why = restart_summary(history, kSignOfLife).text;
  if (!why.empty() && why[0] >= 'a' && why[0] <= 'z') why[0] = static_cast<char>(why[0] - 32);
  put(wrapped(why + ".", 0) + "\n");
  for (std::size_t i = history.boots.size(); i-- > 0;) print_boot(known, i);
  std::string all = counted(history.boots_seen, "boot") + ", " +
                    counted(history.unclean_boots, "unclean shutdown") + " of the device, " +
                    counted(history.unclean_runs, "unclean stop") + " of jetmemd";
  if (history.boots_seen > history.boots.size()) {
    all += "; the last " + std::to_string(history.boots.size()) + " are shown";
  }
  put("\n" + wrapped(all + ".", 0));
  if (known.facts != nullptr) print_records(*known.facts);
}

// Of a directory that was named: as jetmemd left it there.
Known read_directory(const std::string& directory, boot::History& history, boot::Marks& marks) {
  Known known;
  const std::string path = directory + "/" + std::string(boot::kHistoryFile);
  if (const auto text = read_small_file(path, kMaxHistory); !text) {
    known.lacks(text.error());
  } else if (auto ok = boot::parse_history(*text, history); !ok) {
    known.lacks(std::move(ok.error()).within(path));
  } else {
    known.history = &history;
  }
  const auto marks_text = read_small_file(directory + "/" + std::string(boot::kMarksFile));
  if (marks_text) {
    boot::parse_marks(*marks_text, marks);
    known.marks = &marks;
  }
  return known;
}

int show(const BootsOptions& options, const Known& known) {
  if (options.json) {
    put(boots_json(known));
  } else {
    print_text(known);
  }
  if (known.is_unreadable) warn("boots", known.problem);
  // Not even looked at: nothing is wrong with the command or what it reads.
  if (known.code == Errc::kSkipped) return kExitUnknown;
  return known.is_unreadable ? exit_code(known.code) : kExitOk;
}

// What the jetmemd that is named has read of its state directory.
int run_remote_boots(const BootsOptions& options) {
  if (!options.state_directory.empty()) {
    return failed("boots", {Errc::kInvalid, "--daemon and --state-dir exclude each other"});
  }
  const auto reply = ask_daemon(options, {}, "/api/v1/texts");
  if (!reply) return failed("boots", reply.error());
  const auto parsed = nlohmann::json::parse(reply->body, nullptr, /*allow_exceptions=*/false);
  const auto text_of = [&](std::string_view file) -> std::string {
    const auto found =
        parsed.is_object()
            ? parsed.find(std::string(boot::kStateDirectory) + "/" + std::string(file))
            : parsed.end();
    const bool is_text = parsed.is_object() && found != parsed.end() && found->is_string();
    return is_text ? found->get<std::string>() : std::string();
  };
  boot::History history;
  boot::Marks marks;
  Known known;
  const std::string kept = text_of(boot::kHistoryFile);
  if (kept.empty()) {
    known.lacks(
        {Errc::kAbsent,
         reply->from.text() + " keeps none (it has no STATE_DIRECTORY), or has not read it yet"});
  } else if (auto ok = boot::parse_history(kept, history); !ok) {
    known.lacks({Errc::kUnavailable, reply->from.text() + ": " + ok.error().message});
  } else {
    known.history = &history;
  }
  boot::parse_marks(text_of(boot::kMarksFile), marks);
  known.marks = &marks;
  return show(options, known);
}

int run_boots(const BootsOptions& options) {
  if (!options.daemon.empty()) return run_remote_boots(options);
  boot::History history;
  boot::Marks marks;
  Known known;
  auto shot = LocalSnapshot::read(options.root, {"boot"});
  if (!shot) return failed("boots", shot.error());
  const auto* facts = (*shot)->sampler().readings().get<BootFacts>();
  if (!options.state_directory.empty()) {
    known = read_directory(options.state_directory, history, marks);
  } else if (facts != nullptr) {
    if (!facts->history_error) {
      known.history = &facts->history;
    } else {
      known.lacks(*facts->history_error);
      if (!known.is_unreadable) known.problem = "jetmemd has not recorded one yet";
    }
    known.marks = &facts->marks;
  } else {
    const SourceStatus& status = (*shot)->sampler().status((*shot)->chosen().front());
    if (status.skipped.empty()) {
      known.lacks(
          {status.state == SourceState::kAbsent ? Errc::kAbsent : Errc::kIo, status.reason});
    } else {
      known.lacks({Errc::kSkipped, status.skipped});
    }
  }
  known.facts = facts;
  return show(options, known);
}

}  // namespace

void add_boots_command(const Command& program) {
  const Command command =
      program.add("boots", "Why the device restarted, its boots, and what changed");
  auto& options = command.runs(run_boots);
  command.json("As JSON, newest first");
  command.option("--state-dir", options.state_directory, "DIR",
                 "jetmemd's state directory (default: /var/lib/jetmem)");
  command.daemon();
  command.footer(
      "Newest first: when each boot was first seen, how long it ran and how it ended, with the "
      "changes (kernel, L4T, power mode, settings) and marks of jetmem mark. Clean: a shutdown "
      "stopped jetmemd. Unclean: jetmemd ran and received no stop (power loss, panic, watchdog). "
      "Only root and jetmemd can read the history: sudo jetmem boots, or --daemon ADDRESS for "
      "jetmemd's copy, up to five minutes old. --root DIR reads below DIR.");
  command.exit_status(
      "0, also if there is no history yet; 3 if a bundle was captured without reading it");
}

}  // namespace jetmem
