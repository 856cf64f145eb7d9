// SPDX-License-Identifier: Apache-2.0
// jetmem decode kernel-log: finds and explains the lines of a kernel log that concern memory.

#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "cli/command.h"
#include "cli/decode/log_format.h"
#include "cli/exit_codes.h"
#include "cli/text/events/event_text.h"
#include "report/events/event_json.h"

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::EventKind;
using kernel_log::Soc;
using kernel_log::TextLog;

struct KernelLogOptions : Target {
  std::string file;
  std::optional<std::string> soc;
  bool json = false;
};

std::string time_of(const Event& event, std::string_view printed) {
  if (!printed.empty()) return printable(printed, 60);
  return event.stamp ? seconds_text(*event.stamp) : std::string();
}

// Prints events as they come.
class KernelLogExplainer {
 public:
  KernelLogExplainer(Soc soc, bool json) : soc_(soc), json_(json) {}

  void event(const Event& event, std::string_view printed_time) {
    const std::string time = time_of(event, printed_time);
    if (json_) {
      nlohmann::ordered_json json = event_json(event);
      json["line"] = event.line;
      if (!time.empty()) json["time"] = time;
      put(json.dump() + "\n");
      return;
    }
    const kernel_log::KindInfo& info = kernel_log::info_of(event.kind());
    std::string head = "line " + std::to_string(event.line);
    if (!time.empty()) head.append(" [").append(time).append("]");
    head.append(": ").append(info.name);
    // In a row of the same kind the meaning stands right above.
    put(event_block(head, event, event.kind() != last_));
    last_ = event.kind();
    ++by_kind_[static_cast<std::size_t>(event.kind())];
    const bool smmu = event.kind() == EventKind::kSmmuContextFault ||
                      event.kind() == EventKind::kSmmuGlobalFault ||
                      event.kind() == EventKind::kSmmuV3Event;
    client_unknown_ = client_unknown_ || (smmu && !event.has("client"));
  }

  void summary(const TextLog::Counts& counts) const {
    const std::string losses = omitted_text(counts);
    if (json_) {
      if (!losses.empty()) warn("decode kernel-log", losses);
      return;
    }
    if (counts.events > 0) put("\n");
    std::string text = counted(counts.lines, "line") + " read: ";
    text.append(counts.events == 0 ? "no event concerning memory"
                                   : counted(counts.events, "event"));
    std::string kinds;
    for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
      const std::uint64_t count = by_kind_[static_cast<std::size_t>(info.kind)];
      if (count == 0) continue;
      kinds.append(kinds.empty() ? " (" : ", ").append(std::to_string(count)).append(" ");
      kinds.append(info.name);
    }
    if (!kinds.empty()) text.append(kinds).append(")");
    const std::uint64_t silent = counts.lines - counts.sending - counts.foreign;
    text.append("; ").append(counted(silent, "line")).append(" without one");
    if (!losses.empty()) text.append("; ").append(losses);
    put(wrapped(text + ".", 0));
    if (client_unknown_ && soc_ == Soc::kUnknown) {
      put(wrapped(
          "The device behind a stream ID depends on the SoC: give --soc (tegra234 for the Orin "
          "family) to name it.",
          0));
    }
  }

 private:
  Soc soc_;
  bool json_;
  EventKind last_ = EventKind::kNone;
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
  if (!options.root.empty() && !options.soc) {
    const auto root = Root::at(options.root);
    if (!root) return failed("decode kernel-log", Error(root.error()).within("--root"));
    soc = kernel_log::soc_of(*root);
  }
  const auto input = open_input(options.root, options.file, "/dev/kmsg", "kernel-log");
  if (!input) return failed("decode kernel-log", input.error());
  KernelLogExplainer explainer(soc, options.json);
  const auto log = std::make_unique<TextLog>(
      soc, [&](const Event& event, std::string_view time) { explainer.event(event, time); });
  const auto read = feed_from(input->fd.get(), input->path, *log);
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
  command.flag("--json", options.json, "One JSON object per line for each event, nothing else");
  command.footer(
      "The log is text as dmesg, journalctl, syslog, a console or /dev/kmsg gives it, quoted or "
      "pasted too, or the output of journalctl -o json, export or verbose, or dmesg --json. Logs "
      "are taken as from another machine, whose SoC only --soc gives. --root DIR reads "
      "DIR/dev/kmsg, unless a FILE is given, and takes the SoC from DIR's device tree. Lines that "
      "a process wrote into the kernel log are counted and ignored.\n"
      "Exit status: 0 if the log was read, with or without events; 1 if it could not be; 2 on a "
      "wrong command line.");
}

}  // namespace jetmem
