// SPDX-License-Identifier: Apache-2.0
// jetmem probe: allocates memory of each kind now, and reports whether it is usable.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/text/text.h"
#include "cli/client/local_snapshot.h"
#include "cli/commands.h"
#include "cli/draw/number_text.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "cli/probe/probe_report.h"
#include "cli/probe/probe_selection.h"
#include "cli/probe/probe_text.h"
#include "cli/signal_fd.h"
#include "probes/gates.h"
#include "probes/run_probe.h"

namespace jetmem {
namespace {

void log_message(const std::string& text) { warn("probe", text); }

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
bool run_group(ProbeGroup group, const ProbeCommand& command, ProbeReport& probe_report) {
  const std::string name(probe_group_name(group));
  SystemSpawner spawner;
  ProbeEnd end = run_probe(spawner, command);
  if (!end.line.empty()) probe_report.take(std::move(end.line), name);
  if (end.failure) probe_report.errors.push_back({name, std::move(end.failure->message)});
  return !end.stopped && end.left_behind < 0;
}

Result<GateInputs> read_gates() {
  auto shot = LocalSnapshot::read({}, {"meminfo", "pressure", "throttle", "cma"});
  if (!shot) return tl::unexpected(std::move(shot.error()));
  const std::uint64_t page_size = Facts::of_this_machine().page_size.value_or(4096);
  return gate_inputs((*shot)->sampler().readings(), source_states((*shot)->sampler()), page_size,
                     (*shot)->now());
}

Result<void> run_all(const ProbeOptions& options, const ProbeSelection& needed,
                     std::optional<SignalFd>& signals, ProbeReport& probe_report) {
  ProbeCommand command;
  command.program = options.program.empty() ? find_companion("jetmem-probe") : options.program;
  if (command.program.empty()) {
    return fail(Errc::kUnavailable,
                "no executable jetmem-probe found beside jetmem or in ../libexec/jetmem; "
                "give its path with --program");
  }
  ProbeRequest& request = command.request;
  request.frame_bytes = needed.frame_bytes;
  request.any_heap = options.force;
  request.deadline = needed.deadline;
  if (options.bisect) {
    const auto now = read_gates();
    if (!now) return tl::unexpected(now.error());
    const auto limit = bisect_limit(needed, *now, options.force);
    if (!limit) return tl::unexpected(limit.error());
    if (!limit->warning.empty()) log_message(limit->warning);
    request.bisect_limit = limit->bytes;
    log_message("--bisect takes up to " + bytes_text(limit->bytes) +
                " briefly: a camera that starts meanwhile may find nothing");
  }
  if (options.force) log_message("--force: safety gates are ignored, and every DMA heap is tried");

  ProgressLine progress;
  // What runs is to be ended first.
  signals.emplace({SIGINT, SIGTERM, SIGHUP});
  command.stop_fd = signals->get();
  command.deadline = needed.deadline;
  if (progress.is_terminal()) {
    command.progress = [&](const std::string& where) { progress.show(where); };
  }
  bool go_on = true;
  for (const ProbeGroup group : {ProbeGroup::kMemory, ProbeGroup::kCuda}) {
    request.kinds = needed.kinds[static_cast<std::size_t>(group)];
    if (request.kinds.empty()) continue;
    const std::string name(probe_group_name(group));
    if (!go_on) {
      probe_report.skipped.push_back(
          {name, "previous_run_unfinished", "the previous run was stopped or hangs"});
      continue;
    }
    // Anew for each: the one before may have taken its time.
    const auto now = read_gates();
    if (!now) return tl::unexpected(now.error());
    request.largest_runs = now->largest_runs;
    const auto closed = gate_refusal(group, *now, {.frame_bytes = needed.frame_bytes});
    if (closed && !options.force) {
      probe_report.skipped.push_back(
          {name, std::string(gate_reason_name(closed->reason)), closed->words});
      continue;
    }
    if (closed) log_message("--force: " + name + " is probed although " + closed->words);
    go_on = run_group(group, command, probe_report);
    progress.clear();
  }
  return {};
}

struct ProbeCommandOptions : Target, ProbeOptions {};

int run_probe(const ProbeCommandOptions& options) {
  const std::string& root = options.root;
  ProbeReport probe_report;
  Result<void> ok;
  // Results so far are shown even after Ctrl-C, which takes effect after that.
  std::optional<SignalFd> signals;
  if (!root.empty()) {
    ok = read_captured_probes(root, probe_report);
  } else {
    const auto needed = understand(options);
    if (!needed) {
      log_message(needed.error().message);
      return kExitUsage;
    }
    ok = run_all(options, *needed, signals, probe_report);
  }
  // Before anything was tried.
  const bool none = !ok && probe_report.runs.empty() && probe_report.errors.empty();
  if (!ok) probe_report.errors.push_back({"", printable(ok.error().message, 1000)});
  for (const ProbeReport::Skipped& each : probe_report.skipped) {
    log_message(each.group + " was skipped (" + each.reason + "): " + each.message);
  }
  for (const ProbeReport::Failed& each : probe_report.errors) {
    log_message((each.group.empty() ? "" : each.group + ": ") + each.error);
  }
  if (options.json) {
    put(probe_json(probe_report));
  } else {
    std::string grant = "a process outside the sandbox or container that denied it to root";
    if (::geteuid() != 0) {
      grant = "sudo jetmem probe, or membership in the groups of the devices: video, render";
    }
    const std::string text = probe_text(probe_report.runs, root.empty() ? grant : "");
    put(text);
    // A terminal shows these on standard error; here they go with the table.
    if (!text.empty() && ::isatty(STDOUT_FILENO) == 0) {
      for (const ProbeReport::Skipped& each : probe_report.skipped) {
        std::printf("skipped: %s (%s): %s\n", each.group.c_str(), each.reason.c_str(),
                    each.message.c_str());
      }
    }
  }
  if (signals) std::fflush(stdout);
  // A capture without a probe leaves it open.
  if (none && ok.error().code != Errc::kAbsent) return exit_code(ok.error().code);
  return probe_exit_status(probe_report);
}

}  // namespace

void add_probe_command(const Command& program) {
  const Command command =
      program.add("probe", "Allocate memory of each kind briefly and verify that it is usable");
  auto& options = command.runs(run_probe);
  // A captured tree runs nothing.
  command.option("--kind", options.kinds, "KIND[,KIND]", "Only these kinds; repeatable")
      .separated_by_commas()
      .excludes({"--root"});
  command
      .option("--size", options.size, "SIZE", "Largest buffer, e.g. a camera frame, 4KiB to 256MiB")
      .show_default()
      .excludes({"--root"});
  command
      .flag("--bisect", options.bisect,
            "Find the largest possible size of one kind: dmabuf, pinned or device")
      .needs("--kind");
  command
      .option("--limit", options.limit, "SIZE",
              "With --bisect: at most this (default: MemAvailable minus 512MiB)")
      .needs("--bisect");
  command.flag("--force", options.force, "Ignore the safety gates, and use every DMA heap")
      .excludes({"--root"});
  command
      .option("--deadline", options.deadline, "DURATION",
              "Time limit of each of the two processes, 1s to 10m")
      .show_default()
      .excludes({"--root"});
  command.option("--program", options.program, "PATH", "Another jetmem-probe").excludes({"--root"});
  command.json("As JSON: each run in full, and what was skipped");
  command.footer(
      "Kinds: host (pageable memory), dmabuf (every DMA heap, udmabuf); with CUDA: pinned, "
      "managed, device, registered, pool, dmabuf_export, dmabuf_import, nvbufsurface, eglstream.\n"
      "States: ok; failed: it could not be allocated or used; mismatch: CPU or GPU did not see "
      "what the other wrote; unsupported: this board, driver or build has none; denied: this user "
      "may not; skipped: a heap without room for four frames, as far as is known.\n"
      "One buffer at a time is allocated, written, checked and freed. CUDA also needs a context of "
      "some 100 MB; so it does not run while MemAvailable minus free CMA is below 512MiB or "
      "MemFree minus free CMA below 256MiB, while the chip is throttled, while processes stall on "
      "memory (or where either should be known and is not), or within 5 minutes of boot; host and "
      "dmabuf not below 64MiB or four buffers.\n"
      "--bisect takes all it can get: a camera that starts meanwhile may find nothing.\n"
      "Times are those of the largest buffer; --json has every size, step and bandwidth. --root "
      "DIR runs nothing and shows what was captured. Needs no daemon.");
  command.exit_status(
      "0 if nothing failed; 1 if a kind failed; 2 if one mismatched; 3 if the program failed, or "
      "if "
      "nothing could be tried and something was skipped or denied");
}

}  // namespace jetmem
