// SPDX-License-Identifier: Apache-2.0
// jetmem decode kernel-log: finds and explains the lines of a kernel log that concern memory.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text/text.h"
#include "cli/client/rule_input.h"
#include "cli/client/site_messages_input.h"
#include "cli/command.h"
#include "cli/decode/log_format.h"
#include "cli/exit_codes.h"
#include "cli/text/events/cause_text.h"
#include "cli/text/events/event_text.h"
#include "report/diagnosis/cause.h"
#include "report/events/event_json.h"
#include "report/events/kernel_event_record.h"

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::EventKind;
using kernel_log::Soc;
using kernel_log::TextLog;

struct KernelLogOptions : Target {
  std::string file;
  std::optional<std::string> soc;
  bool causes = false;
};

std::string time_of(const Event& event, std::string_view printed) {
  if (!printed.empty()) return printable(printed, 60);
  return event.stamp ? seconds_text(*event.stamp) : std::string();
}

// Prints events as they come.
class KernelLogExplainer {
 public:
  KernelLogExplainer(Soc soc, bool json, bool causes) : soc_(soc), json_(json), causes_(causes) {}

  // The text as it is read: what it says of the machine.
  void bytes(std::string_view bytes) { facts_.feed(bytes); }

  void event(const Event& event, std::string_view printed_time) {
    const std::string time = time_of(event, printed_time);
    if (!event.is_guess()) keep(event, time);
    if (json_) {
      nlohmann::ordered_json json = event_json(event);
      json["line"] = event.line;
      if (!time.empty()) json["time"] = time;
      put(json.dump() + "\n");
      return;
    }
    const kernel_log::KindInfo& info = kernel_log::info_of(event.kind());
    const std::string_view name = event.is_guess() ? "guess" : info.name;
    std::string head = "line " + std::to_string(event.line);
    if (!time.empty()) head.append(" [").append(time).append("]");
    put(head.append(": ").append(name).append("\n") + wrapped(kernel_log::describe(event), 4));
    if (event.is_guess()) {
      ++guesses_;
      return;
    }
    ++by_kind_[static_cast<std::size_t>(event.kind())];
    const bool smmu = event.kind() == EventKind::kSmmuContextFault ||
                      event.kind() == EventKind::kSmmuGlobalFault ||
                      event.kind() == EventKind::kSmmuV3Event;
    client_unknown_ = client_unknown_ || (smmu && !event.has("client") &&
                                          (event.has("sid") || event.has("cbfrsynra")));
  }

  void summary(const TextLog::Counts& counts) {
    const std::string losses = omitted_text(counts);
    facts_.finish();
    std::vector<const EventRecord*> kept;
    for (const EventRecord& each : kept_) kept.push_back(&each);
    const std::vector<diagnosis::Cause> causes = diagnosis::explain(kept, facts_.facts());
    if (json_) {
      for (const diagnosis::Cause& each : causes) {
        if (causes_) put(cause_json(each).dump() + "\n");
      }
      if (!losses.empty()) warn("decode kernel-log", losses);
      return;
    }
    const std::uint64_t events = counts.events - std::min(counts.events, guesses_);
    if (counts.events > 0) put("\n");
    std::string text = counted(counts.lines, "line") + " read: ";
    text.append(events == 0 ? "no event concerning memory" : counted(events, "event"));
    std::string kinds;
    for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
      const std::uint64_t count = by_kind_[static_cast<std::size_t>(info.kind)];
      if (count == 0) continue;
      kinds.append(kinds.empty() ? " (" : ", ").append(std::to_string(count)).append(" ");
      kinds.append(info.name);
    }
    if (!kinds.empty()) text.append(kinds).append(")");
    if (guesses_ > 0) {
      text.append("; ").append(guesses_ == 1 ? "1 guess" : std::to_string(guesses_) + " guesses");
    }
    const std::uint64_t silent = counts.lines - counts.sending - counts.foreign;
    text.append("; ").append(counted(silent, "line")).append(" without one");
    if (!losses.empty()) text.append("; ").append(losses);
    put(wrapped(text + ".", 0));
    put(causes_text(causes));
    if (client_unknown_ && soc_ == Soc::kUnknown) {
      put(wrapped(
          "The device behind a stream ID depends on the SoC: give --soc (tegra234 for the Orin "
          "family) to name it.",
          0));
    }
  }

 private:
  // Of each kind, so that a storm of one does not hide another.
  static constexpr std::size_t kMostOfKind = 64;
  struct Kept {
    std::size_t count = 0;
    std::size_t last = 0;  // in kept_
  };

  void keep(const Event& event, const std::string& time) {
    if (!has_room(event.kind())) return;
    kept_.push_back(
        kernel_event_record(event, kernel_log::Origin::kSystem,
                            event.stamp ? std::optional<Nanoseconds>(*event.stamp) : std::nullopt));
    kept_.back().printed_time = time;
  }

  // False: it is counted with the last that was kept of its kind.
  bool has_room(EventKind kind) {
    Kept& kept = kept_of_[static_cast<std::size_t>(kind)];
    if (kept.count == kMostOfKind) {
      ++kept_[kept.last].count;
      return false;
    }
    ++kept.count;
    kept.last = kept_.size();
    return true;
  }

  std::uint64_t guesses_ = 0;
  Soc soc_;
  bool json_;
  bool causes_;
  diagnosis::LogFacts facts_;
  std::vector<EventRecord> kept_;
  std::array<Kept, kernel_log::kKindCount> kept_of_{};
  bool client_unknown_ = false;
  std::array<std::uint64_t, kernel_log::kKindCount> by_kind_{};
};

int run_decode_kernel_log(const KernelLogOptions& options) {
  Soc soc = Soc::kUnknown;
  if (options.soc) {
    const auto given = soc_option(*options.soc);
    if (!given) return failed("decode kernel-log", given.error());
    soc = *given;
  }
  // Without --root the text is from some other machine: what this one is says nothing of it.
  Root root = Root::live();
  if (!options.root.empty()) {
    auto tree = Root::at(options.root);
    if (!tree) return failed("decode kernel-log", Error(tree.error()).within("--root"));
    root = std::move(*tree);
    if (!options.soc) soc = kernel_log::soc_of(root);
  }
  const auto input = open_input(options.root, options.file, "/dev/kmsg", "kernel-log");
  if (!input) return failed("decode kernel-log", input.error());
  if (!options.config.empty()) {
    const auto settings = settings_for("decode kernel-log", options.config);
    if (!settings) return exit_code(settings.error().code);
  }
  const auto messages = site_messages_for(options.config, root);
  KernelLogExplainer explainer(soc, options.json, options.causes);
  const auto log = std::make_unique<TextLog>(
      soc, [&](const Event& event, std::string_view time) { explainer.event(event, time); },
      messages->catalogues());
  const auto read = feed_from(input->fd.get(), input->path, *log,
                              [&](std::string_view bytes) { explainer.bytes(bytes); });
  if (!read) return failed("decode kernel-log", read.error());
  if (!read->empty()) warn("decode kernel-log", input->path + ": " + *read);
  explainer.summary(log->counts());
  return kExitOk;
}

}  // namespace

void add_decode_kernel_log(const Command& decode) {
  const Command command =
      decode.add("kernel-log", "Find and explain the lines of a kernel log that concern memory");
  auto& options = command.runs(run_decode_kernel_log);
  command.option("FILE", options.file, "", "The log; - or nothing: standard input");
  command.option("--soc", options.soc, "NAME",
                 "The SoC of the log, e.g. tegra234: names the device behind an SMMU stream ID");
  command.json("One JSON object per line for each event, nothing else");
  command
      .flag("--causes", options.causes, "With --json: an object for each cause behind the events")
      .needs("--json");
  command.config("Settings file that names the site's own messages (default: those of jetmemd)");
  command.footer(
      "The log is text as dmesg, journalctl, syslog, a console or /dev/kmsg gives it, or the "
      "output "
      "of journalctl -o json, export or verbose, or dmesg --json. Time stamps of other loggers, "
      "marks of Markdown and colours are removed, and broken lines joined. Logs are "
      "treated as from another machine, whose SoC only --soc gives. --root DIR "
      "reads DIR/dev/kmsg, unless a FILE is given, and takes the SoC from DIR's device tree. Lines "
      "that a process wrote into the kernel log are counted and ignored. Messages of the site's "
      "own "
      "(messages.directory) are known, too. A line that is no message that jetmem knows and whose "
      "words suggest trouble is a guess (--json: \"known\": false): it is shown and counts for "
      "nothing.\n\nAt the end: why it "
      "happened and what to do, the likeliest root first, from the events together and from what "
      "the log says of the machine (kernel and L4T release, command line, CMA, modules of "
      "backtraces). With --json --causes: objects with the members cause_id (a code), harm, kind, "
      "events, cause, remedy, runbook, and device and link where known.");
  command.exit_status("0 if the log was read, with or without events");
}

}  // namespace jetmem
