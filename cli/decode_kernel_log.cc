// jetmem decode kernel-log: finds and explains what a kernel log tells of memory and its devices.

#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "cli/decode.h"
#include "cli/event_text.h"
#include "cli/exit_codes.h"
#include "cli/log_input.h"
#include "report/event_json.h"

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::EventKind;
using kernel_log::Soc;
using kernel_log::TextLog;

struct DecodeOptions {
  std::string file;
  std::string soc;
  bool soc_given = false;
  bool json = false;
};

std::string time_of(const Event& event, std::string_view printed) {
  if (!printed.empty()) return printable(printed, 60);
  return event.stamp ? seconds_text(*event.stamp) : std::string();
}

void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// Prints events as they come.
class Explainer {
 public:
  Explainer(Soc soc, bool json) : soc_(soc), json_(json) {}

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
    const std::string losses = left_out(counts);
    if (json_) {
      if (!losses.empty()) std::fprintf(stderr, "jetmem decode kernel-log: %s\n", losses.c_str());
      return;
    }
    if (counts.events > 0) put("\n");
    std::string text = counted(counts.lines, "line") + " read: ";
    text.append(counts.events == 0 ? "no event of memory or its devices"
                                   : counted(counts.events, "event"));
    std::string kinds;
    for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
      const std::uint64_t count = by_kind_[static_cast<std::size_t>(info.kind)];
      if (count == 0) continue;
      kinds.append(kinds.empty() ? " (" : ", ").append(std::to_string(count)).append(" ");
      kinds.append(info.name);
    }
    if (!kinds.empty()) text.append(kinds).append(")");
    const std::uint64_t silent = counts.lines - counts.telling - counts.foreign;
    text.append("; ").append(counted(silent, "line")).append(" without one");
    if (!losses.empty()) text.append("; ").append(losses);
    put(wrapped(text + ".", 0));
    if (client_unknown_ && soc_ == Soc::kUnknown) {
      put(wrapped(
          "Which device a stream ID stands for depends on the SoC: with --soc (tegra234 for "
          "the Orin family) it is named.",
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

int fail_with(const Error& error) {
  std::fprintf(stderr, "jetmem decode kernel-log: %s\n", error.message.c_str());
  return error.code == Errc::kInvalid ? kExitUsage : kExitFailed;
}

int run_decode_kernel_log(const std::string& directory, const DecodeOptions& options) {
  Soc soc = Soc::kUnknown;
  if (options.soc_given) {
    const auto given = soc_given(options.soc);
    if (!given) return fail_with(given.error());
    soc = *given;
  }
  // Without --root the text is from some other machine: what this one is says nothing of it.
  Result<Root> root = Root::live();
  if (!directory.empty()) {
    root = Root::at(directory);
    if (!root) return fail_with(std::move(root.error()).within("--root"));
    if (!options.soc_given) soc = kernel_log::soc_of(*root);
  }
  const bool captured = !directory.empty() && options.file.empty();
  const std::string file = options.file.empty() ? "-" : options.file;
  auto input = captured ? open_captured(*root, directory) : open_given(file);
  if (!input) return fail_with(input.error());
  if (!captured && file == "-" && ::isatty(STDIN_FILENO) == 1) {
    std::fputs("jetmem decode kernel-log: reading what you type or paste; Ctrl-D ends it\n",
               stderr);
  }
  Explainer explainer(soc, options.json);
  const auto log = std::make_unique<TextLog>(
      soc, [&](const Event& event, std::string_view time) { explainer.event(event, time); });
  const std::string path = captured      ? printable(directory, 300) + "/dev/kmsg"
                           : file == "-" ? "standard input"
                                         : printable(file, 300);
  const auto read = feed_from(input->get(), path, *log);
  if (!read) return fail_with(read.error());
  if (!read->empty()) {
    std::fprintf(stderr, "jetmem decode kernel-log: %s: %s\n", path.c_str(), read->c_str());
  }
  explainer.summary(log->counts());
  return kExitOk;
}

}  // namespace

void add_decode_kernel_log(CLI::App& decode, CommandContext& context) {
  CLI::App* sub = decode.add_subcommand(
      "kernel-log", "Find what a kernel log tells of memory and its devices, and explain it");
  auto options = std::make_shared<DecodeOptions>();
  sub->add_option("FILE", options->file, "The log; - or nothing: standard input")->type_name("");
  sub->add_option("--soc", options->soc,
                  "The SoC it is from, tegra234 say: names the device behind an SMMU stream ID")
      ->type_name("NAME");
  sub->add_flag("--json", options->json, "One JSON object a line for each event, nothing else");
  sub->footer(
      "The log is text as dmesg, journalctl, syslog, a console or /dev/kmsg gives it, quoted or\n"
      "pasted too, or what journalctl -o json, export or verbose and dmesg --json write.\n"
      "Logs are taken as from another machine, whose SoC only --soc tells. --root DIR "
      "reads\n"
      "DIR/dev/kmsg, unless a FILE is given, and takes the SoC from DIR's device tree.\n"
      "Lines that a process wrote into the kernel's log are counted and not believed.\n"
      "Exit status: 0 when the log was read, with or without events; 1 when it could not be; 2 on "
      "a\n"
      "wrong command line.");
  sub->callback([sub, options, &context] {
    options->soc_given = sub->count("--soc") > 0;
    context.status = run_decode_kernel_log(context.root, *options);
  });
}

}  // namespace jetmem
