// jetmem probe: really takes memory of each kind now, and says whether it could be had and used.

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/one_shot.h"
#include "cli/probe_text.h"
#include "cli/probe_told.h"
#include "cli/probe_wanted.h"
#include "probes/gates.h"
#include "probes/request.h"
#include "probes/run_probe.h"

namespace jetmem {
namespace {

void say(const std::string& text) { std::fprintf(stderr, "jetmem probe: %s\n", text.c_str()); }

// Signals that end the command, taken as something to wait for: what runs is to be ended first.
class EndingSignals {
 public:
  EndingSignals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, number);
    ::sigprocmask(SIG_BLOCK, &set, &before_);
    fd_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  // One that came takes its usual effect now.
  ~EndingSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;

  int fd() const { return fd_.get(); }

 private:
  sigset_t before_{};
  UniqueFd fd_;
};

// One line on a terminal that says what is being tried.
class ProgressLine {
 public:
  void show(const std::string& where) {
    if (!is_terminal_) return;
    std::fprintf(stderr, "\r%-*.*s", kWidth, kWidth, where.c_str());
    std::fflush(stderr);
    shown_ = true;
  }
  void clear() {
    if (shown_) std::fprintf(stderr, "\r%*s\r", kWidth, "");
    shown_ = false;
  }
  bool is_terminal() const { return is_terminal_; }

 private:
  static constexpr int kWidth = 79;
  const bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
};

// Runs a group's process. False when no other is to be started: it was stopped, or hangs.
bool run_group(ProbeGroup group, const ProbeCommand& command, ToldProbes& told) {
  const std::string name(probe_group_name(group));
  SystemSpawner spawner;
  ProbeEnd end = run_probe(spawner, command);
  if (!end.output.result.empty()) told.take(std::move(end.output.result), name);
  if (!end.partial.empty()) told.take(std::move(end.partial), name);
  if (end.error) told.errors.push_back({name, "jetmem-probe " + end.error->message});
  return !end.stopped && end.left_behind < 0;
}

Result<GateInputs> read_gates() {
  auto shot = OneShot::read({}, {"meminfo", "pressure", "throttle", "cma"});
  if (!shot) return tl::unexpected(std::move(shot.error()));
  const std::uint64_t page_size = Facts::of_this_machine().page_size.value_or(4096);
  return gate_inputs((*shot)->sampler().readings(), source_states((*shot)->sampler()), page_size,
                     (*shot)->now());
}

Result<void> run_all(const ProbeOptions& options, const WantedProbes& wanted,
                     std::optional<EndingSignals>& signals, ToldProbes& told) {
  ProbeCommand command;
  command.program = options.program.empty() ? find_companion("jetmem-probe") : options.program;
  if (command.program.empty()) {
    return fail(Errc::kAbsent,
                "found no jetmem-probe that can be executed, neither beside jetmem nor in "
                "../libexec/jetmem; --program PATH names one");
  }
  ProbeRequest request;
  request.frame_bytes = wanted.frame_bytes;
  request.any_heap = options.force;
  request.deadline = wanted.deadline;
  if (options.bisect) {
    const auto now = read_gates();
    if (!now) return tl::unexpected(now.error());
    const auto limit = bisect_limit(wanted, *now, options.force);
    if (!limit) return tl::unexpected(limit.error());
    if (!limit->warning.empty()) say(limit->warning);
    request.bisect_limit = limit->bytes;
    say("--bisect takes up to " + std::to_string(limit->bytes >> 20) +
        "MiB for moments: a camera that starts meanwhile may find nothing");
  }
  if (options.force) say("--force: no gate holds it, and every DMA heap is tried whatever is free");

  ProgressLine progress;
  signals.emplace();
  command.stop_fd = signals->fd();
  command.deadline = wanted.deadline;
  if (progress.is_terminal()) {
    command.progress = [&](const std::string& where) { progress.show(where); };
  }
  bool go_on = true;
  for (const ProbeGroup group : {ProbeGroup::kMemory, ProbeGroup::kCuda}) {
    request.kinds = wanted.kinds[static_cast<std::size_t>(group)];
    if (request.kinds.empty()) continue;
    const std::string name(probe_group_name(group));
    if (!go_on) {
      told.skipped.push_back({name, "earlier_run", "the one before was stopped or hangs"});
      continue;
    }
    // Anew for each: the one before may have taken its time.
    const auto now = read_gates();
    if (!now) return tl::unexpected(now.error());
    request.largest_runs = now->largest_runs;
    const auto closed = closed_gate(group, *now, {.frame_bytes = wanted.frame_bytes});
    if (closed && !options.force) {
      told.skipped.push_back({name, std::string(gate_reason_name(closed->reason)), closed->words});
      continue;
    }
    if (closed) say("--force: " + name + " is probed although " + closed->words);
    command.arguments = probe_arguments(request);
    go_on = run_group(group, command, told);
    progress.clear();
  }
  return {};
}

int run_probe(const std::string& root, const ProbeOptions& options, bool says_what_to_run) {
  ToldProbes told;
  Result<void> ok;
  // What was found is shown also to whoever pressed Ctrl-C, which takes effect after that.
  std::optional<EndingSignals> signals;
  if (!root.empty()) {
    if (says_what_to_run) {
      say("with --root nothing is run: only --json goes with it");
      return kExitUsage;
    }
    ok = read_captured_probes(root, told);
  } else {
    const auto wanted = understand(options);
    if (!wanted) {
      say(wanted.error().message);
      return kExitUsage;
    }
    ok = run_all(options, *wanted, signals, told);
  }
  if (!ok) told.errors.push_back({"", printable(ok.error().message, 1000)});
  for (const ToldProbes::Skipped& each : told.skipped) {
    say(each.group + " was left out (" + each.reason + "): " + each.words);
  }
  for (const ToldProbes::Failed& each : told.errors) {
    say((each.group.empty() ? "" : each.group + ": ") + each.error);
  }
  if (options.json) {
    std::fputs(probe_json(told).c_str(), stdout);
  } else {
    std::string grant = "a process without the sandbox or container that refused it to root";
    if (::geteuid() != 0) {
      grant = "sudo jetmem probe, or membership in the groups of the devices: video, render";
    }
    const std::string text = probe_text(told.runs, root.empty() ? grant : "");
    std::fputs(text.c_str(), stdout);
    // Above on a terminal; here for whoever keeps the table.
    if (!text.empty() && ::isatty(STDOUT_FILENO) == 0) {
      for (const ToldProbes::Skipped& each : told.skipped) {
        std::printf("left out: %s (%s): %s\n", each.group.c_str(), each.reason.c_str(),
                    each.words.c_str());
      }
    }
  }
  if (signals) std::fflush(stdout);
  return probe_exit_status(told);
}

}  // namespace

void add_probe_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "probe", "Take memory of each kind for a moment: can it be had, and is it as written");
  auto options = std::make_shared<ProbeOptions>();
  std::vector<CLI::Option*> what;
  what.push_back(command->add_option("--kind", options->kinds, "Only these kinds; repeatable")
                     ->delimiter(',')
                     ->type_name("KIND[,KIND]")
                     ->allow_extra_args(false));
  what.push_back(command
                     ->add_option("--size", options->size,
                                  "The largest buffer, a camera's frame, 4KiB to 256MiB")
                     ->type_name("SIZE")
                     ->capture_default_str());
  what.push_back(command->add_flag("--bisect", options->bisect,
                                   "Find the largest size of one kind: dmabuf, pinned or device"));
  what.push_back(command
                     ->add_option("--limit", options->limit,
                                  "With --bisect: no larger than this; else MemAvailable less "
                                  "512MiB")
                     ->type_name("SIZE"));
  what.push_back(command->add_flag("--force", options->force,
                                   "Whatever the gates say, and on every DMA heap"));
  what.push_back(command
                     ->add_option("--deadline", options->deadline,
                                  "How long each of the two processes may take, 1s to 10m")
                     ->type_name("DURATION")
                     ->capture_default_str());
  what.push_back(command->add_option("--program", options->program, "Another jetmem-probe")
                     ->type_name("PATH"));
  command->add_flag("--json", options->json, "As JSON: each run whole, and what was left out");
  command->footer(
      "Kinds: host (pageable memory), dmabuf (every DMA heap, udmabuf); with CUDA: pinned, "
      "managed,\n"
      "device, registered, dmabuf_export, dmabuf_import, nvbufsurface, eglstream.\n"
      "States: ok; failed: it could not be had or used; mismatch: CPU or GPU did not see what the\n"
      "other wrote; unsupported: this board, driver or build has none; denied: this user may not;\n"
      "skipped: a heap without room for four frames, as far as is known.\n"
      "It takes memory for a moment: one buffer at a time, written, checked and given back. With "
      "CUDA\n"
      "a context besides, some 100 MB; so not while MemAvailable less free CMA is below 512MiB or\n"
      "MemFree less free CMA below 256MiB, while the chip is throttled, while processes wait for\n"
      "memory (or where either should be known and is not), or within 5 minutes of the start; "
      "host\n"
      "and dmabuf not below 64MiB or four buffers.\n"
      "--bisect takes all it can get: a camera that starts meanwhile may find nothing.\n"
      "Times are those of the largest buffer; --json has every size, step and bandwidth. --root "
      "DIR\n"
      "runs nothing and shows what was captured. Needs no daemon.\n"
      "Exit status: 0 when nothing failed; 1 when a kind failed or mismatched, when the program "
      "did,\n"
      "or when nothing could be tried and something was left out or denied; 2 on a wrong command\n"
      "line.");
  command->callback([what, options, &context] {
    const bool says_what = std::any_of(what.begin(), what.end(),
                                       [](const CLI::Option* each) { return each->count() > 0; });
    context.status = run_probe(context.root, *options, says_what);
  });
}

}  // namespace jetmem
