// SPDX-License-Identifier: Apache-2.0
// jetmem boots: why the device restarted, and what had changed before.

#include <algorithm>
#include <utility>

#include "base/root/small_file.h"
#include "base/text/text.h"
#include "base/version.h"
#include "cli/client/device_client.h"
#include "cli/client/local_snapshot.h"
#include "cli/commands.h"
#include "cli/draw/since.h"
#include "cli/exit_codes.h"
#include "cli/text/events/event_text.h"
#include "report/answers/boots_answer.h"

namespace jetmem {

namespace {

using boot::Boot;
using boot::DeviceEnd;
using boot::Mark;
using boot::Marks;
using boot::Moment;
using boot::What;

constexpr std::size_t kMaxHistory = 256U << 10;

struct BootsOptions : Target {
  std::string state_directory;
};

// How long a boot was seen to run.
std::string ran(const Boot& boot) {
  return boot::duration_text(static_cast<std::int64_t>(boot.last.uptime));
}

// A change or mark within a boot.
struct Aside {
  Moment at;
  std::string text;
};

std::vector<Aside> asides(const BootsAnswer& answer, const Boot& boot) {
  std::vector<Aside> all;
  for (const boot::Change& change : answer.history->changes) {
    if (change.boot == boot.number) all.push_back({change.at, change_text(change)});
  }
  for (const Mark& mark : answer.marks) {
    if (mark.boot == boot.id) all.push_back({mark.at, "mark: " + mark.sentence()});
  }
  // Within one boot its own clock has the order.
  std::stable_sort(all.begin(), all.end(),
                   [](const Aside& a, const Aside& b) { return a.at.uptime > b.at.uptime; });
  return all;
}

void print_boot(const BootsAnswer& answer, std::size_t i) {
  const boot::History& history = *answer.history;
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
  for (const Aside& aside : asides(answer, boot)) {
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

// `facts` null: not read. `is_unreadable`: the problem is reported beside.
void print_text(const BootsAnswer& answer, const BootFacts* facts, bool is_unreadable) {
  if (!answer.history) {
    if (!is_unreadable) {
      put(wrapped("There is no history of boots: " + absence_reason(answer.absent, "boots") + ".",
                  0));
    }
    if (facts != nullptr && !facts->reset_reason.empty()) {
      put(wrapped("Before this boot: " + boot::reset_text(facts->reset_reason) + ".", 0));
    }
    if (facts != nullptr) print_records(*facts);
    return;
  }
  const boot::History& history = *answer.history;
  std::string why = answer.summary.text;
  if (!why.empty() && why[0] >= 'a' && why[0] <= 'z') why[0] = static_cast<char>(why[0] - 32);
  put(wrapped(why + ".", 0) + "\n");
  for (std::size_t i = history.boots.size(); i-- > 0;) print_boot(answer, i);
  std::string all = counted(history.boots_seen, "boot") + ", " +
                    counted(history.unclean_boots, "unclean shutdown") + " of the device, " +
                    counted(history.unclean_runs, "unclean stop") + " of jetmemd";
  if (history.boots_seen > history.boots.size()) {
    all += "; the last " + std::to_string(history.boots.size()) + " are shown";
  }
  all += "; times are " + time_zone_text();
  put("\n" + wrapped(all + ".", 0));
  if (facts != nullptr) print_records(*facts);
}

Result<boot::History> history_of(Result<std::string> text, const std::string& where) {
  if (!text) return tl::unexpected(std::move(text.error()));
  boot::History out;
  if (auto ok = boot::parse_history(*text, out); !ok) {
    return tl::unexpected(std::move(ok.error()).within(where));
  }
  return out;
}

// What jetmemd has read of its state directory.
Result<boot::History> ask_history(DeviceClient& client, AnswerFrom& from, Marks& marks) {
  auto texts = client.ask("/api/v1/texts", parse_texts);
  if (!texts) return tl::unexpected(std::move(texts.error()));
  const auto text_of = [&](std::string_view file) {
    return (*texts)[std::string(boot::kStateDirectory).append("/").append(file)];
  };
  from.by = snapshot_origin_name(SnapshotOrigin::kDaemon);
  from.from = client.from();
  boot::parse_marks(text_of(boot::kMarksFile), marks);
  const std::string kept = text_of(boot::kHistoryFile);
  if (kept.empty()) {
    return fail(Errc::kAbsent,
                from.from + " keeps none (it has no STATE_DIRECTORY), or has not read it yet");
  }
  auto history = history_of(kept, from.from);
  if (!history) history.error().code = Errc::kUnavailable;
  return history;
}

// Of one reading.
Result<boot::History> history_in(const LocalSnapshot& shot, const BootFacts* facts) {
  if (facts == nullptr) {
    const SourceStatus& status = shot.sampler().status(0);
    if (!status.skipped.empty()) return fail(Errc::kSkipped, status.skipped);
    return fail(status.state == SourceState::kAbsent ? Errc::kAbsent : Errc::kIo, status.reason);
  }
  if (!facts->history_error) return facts->history;
  Error error = *facts->history_error;
  if (error.code == Errc::kAbsent) error.message = "jetmemd has not recorded one yet";
  return tl::unexpected(std::move(error));
}

int run_boots(const BootsOptions& options) {
  const std::string& directory = options.state_directory;
  AnswerFrom from;
  from.by = snapshot_origin_name(options.root.empty() ? SnapshotOrigin::kCommand
                                                      : SnapshotOrigin::kCapture);
  from.from = options.root_name;
  from.version = kVersion;
  Marks marks;
  Result<boot::History> history = fail(Errc::kUnavailable, "");
  AnswerFrom of_daemon = from;
  bool answered = false;
  if (options.root.empty() && directory.empty()) {
    DeviceClient client("boots", options);
    history = ask_history(client, of_daemon, marks);
    answered = !of_daemon.from.empty();
    if (!answered && !client.can_do_without(history.error())) {
      return failed("boots", history.error());
    }
    if (!answered) client.note_missing(history.error(), "what its files hold");
    if (history || !options.daemon.empty()) from = std::move(of_daemon);
  }
  std::unique_ptr<LocalSnapshot> shot;
  const BootFacts* facts = nullptr;
  if (options.daemon.empty()) {
    auto read = LocalSnapshot::read(options.root, {"boot"});
    if (!read) return failed("boots", read.error());
    shot = std::move(*read);
    facts = shot->sampler().readings().get<BootFacts>();
  }
  if (!directory.empty()) {
    const std::string path = directory + "/" + std::string(boot::kHistoryFile);
    history = history_of(read_small_file(path, kMaxHistory), path);
    const auto text = read_small_file(directory + "/" + std::string(boot::kMarksFile));
    if (text) boot::parse_marks(*text, marks);
  } else if (shot != nullptr && !history) {
    auto read = history_in(*shot, facts);
    // Where there is none, jetmemd knows why.
    if (read || !answered || read.error().code != Errc::kAbsent) history = std::move(read);
    if (facts != nullptr) marks = facts->marks;
  }
  if (!history && history.error().code == Errc::kDenied) {
    history.error().message += "; try sudo jetmem boots";
  }
  const Errc code = history ? Errc::kAbsent : history.error().code;
  const bool is_unreadable = code != Errc::kAbsent;
  const BootsAnswer answer = boots_answer(std::move(from), std::move(history), marks, facts);
  if (options.json) {
    put(boots_json(answer));
  } else {
    print_text(answer, facts, is_unreadable);
  }
  if (is_unreadable) warn("boots", absence_reason(answer.absent, "boots"));
  // Not even looked at: nothing is wrong with the command or what it reads.
  if (code == Errc::kSkipped) return kExitUnknown;
  return is_unreadable ? exit_code(code) : kExitOk;
}

}  // namespace

void add_boots_command(const Command& program) {
  const Command command =
      program.add("boots", "Why the device restarted, its boots, and what changed");
  auto& options = command.runs(run_boots);
  command.json("As JSON, newest first");
  command
      .option("--state-dir", options.state_directory, "DIR",
              "jetmemd's state directory (default: /var/lib/jetmem)")
      .excludes({"--daemon"});
  command.device();
  command.footer(
      std::string(kAsksDaemon) +
      "Newest first: when each boot was first seen, how long it ran and how it ended, with the "
      "changes (kernel, L4T, power mode, settings) and marks of jetmem mark. Clean: a shutdown "
      "stopped jetmemd. Unclean: jetmemd ran and received no stop (power loss, panic, watchdog). "
      "jetmemd's copy is up to five minutes old; without jetmemd only root can read the history. "
      "Records of pstore are read with your own rights.");
  command.exit_status(
      "0, also if there is no history yet; 3 if a bundle was captured without reading it");
}

}  // namespace jetmem
