// SPDX-License-Identifier: Apache-2.0
// jetmem fits, make-room: whether memory can be had now, and making room for it.
#include "cli/commands/fits.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/text/units.h"
#include "base/unique_fd.h"
#include "cli/client/device_client.h"
#include "cli/commands.h"
#include "cli/draw/number_text.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "report/diagnosis/format.h"

namespace jetmem {
namespace {

constexpr std::chrono::milliseconds kAskAgain{1000};

struct FitsOptions : Target {
  std::string size;
  std::string kind{kMemoryKinds.front()};
  std::string wait = "0s";
  bool dry_run = false;
};

Result<RoomRequest> request_of(const FitsOptions& options) {
  RoomRequest out;
  const auto size = parse_size(options.size);
  if (!size) return tl::unexpected(Error(size.error()).within("SIZE"));
  const auto wait = parse_duration(options.wait);
  if (!wait) return tl::unexpected(Error(wait.error()).within("--wait"));
  const auto kind = std::find(kMemoryKinds.begin(), kMemoryKinds.end(), options.kind);
  out.kind = static_cast<MemoryKind>(kind - kMemoryKinds.begin());
  out.bytes = static_cast<double>(*size);
  out.wait = *wait;
  out.dry_run = options.dry_run;
  return out;
}

int exit_code_of(const FitsAnswer& answer) {
  constexpr std::array kCodes{kExitOk, kExitWarning, kExitCritical, kExitUnknown};
  return kCodes[static_cast<std::size_t>(answer.fit)];
}

std::string kind_of(const FitsAnswer& answer) {
  return std::string(kMemoryKinds[static_cast<std::size_t>(answer.kind)]);
}

// "yes: 1 GiB (device): the most is 20 GiB"
std::string verdict(const FitsAnswer& answer) {
  constexpr std::array kWords{"yes", "after making room", "no", "unknown"};
  std::string out = kWords[static_cast<std::size_t>(answer.fit)];
  if (answer.is_guess) out += " (a guess)";
  out += ": " + bytes_text(answer.bytes) + " (" + kind_of(answer) +
         (answer.where.empty() ? "" : ", " + answer.where) + "): " + answer.why;
  if (answer.shrinks_away_seconds) {
    out += "; no longer in " + doctor::about(*answer.shrinks_away_seconds) +
           " if memory continues to shrink as in the last two hours";
  }
  return out;
}

void print(const FitsAnswer& answer, const Target& target) {
  if (target.json) {
    put(fits_json(answer));
    return;
  }
  std::string out = wrapped(verdict(answer), 0);
  for (const std::string& note : answer.notes) out += wrapped(note, 2);
  if (answer.fit == Fit::kAfterMakingRoom && target.root.empty() && target.daemon.empty()) {
    // Whole, to be pasted.
    out += "  sudo jetmem make-room " + format_size(static_cast<std::uint64_t>(answer.bytes)) +
           " --kind " + kind_of(answer) + "\n";
  }
  put(out);
}

int run_fits(const FitsOptions& options) {
  const auto request = request_of(options);
  if (!request) return failed("fits", request.error());
  const SystemClock clock;
  const Nanoseconds end = clock.mono() + request->wait;
  for (;;) {
    const auto now = DeviceClient("fits", options).now();
    if (!now) return undecided("fits", options, now.error());
    const FitsAnswer answer = fits_answer(*now, request->kind, request->bytes);
    if (answer.fit == Fit::kNow || clock.mono() >= end) {
      print(answer, options);
      return exit_code_of(answer);
    }
    std::this_thread::sleep_for(kAskAgain);
  }
}

Result<void> write_one(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (file.valid() && ::write(file.get(), "1", 1) == 1) return {};
  Error error = errno_error("write to", path, errno);
  if (error.code == Errc::kDenied) error.message += ": only root may; try sudo jetmem make-room";
  return tl::unexpected(std::move(error));
}

std::string room_json(const RoomMade& made, bool dry_run) {
  return json::write_document(1, [&](json::Fields& v) {
    v.schema("jetmem-make-room/1");
    v.output("kind", kind_of(made.after));
    v.output("bytes", made.after.bytes);
    v.output("dry_run", dry_run);
    v.output("done", made.done);
    v.output("fits_before", std::string(fit_name(made.before.fit)));
    v.output("fits_after", std::string(fit_name(made.after.fit)));
    v.output("before_bytes", made.before.now_bytes);
    v.output("after_bytes", made.after.now_bytes);
  });
}

int run_make_room(const FitsOptions& options) {
  const auto request = request_of(options);
  if (!request) return failed("make-room", request.error());
  const SystemClock clock;
  const RoomMaker maker{.read = [&] { return DeviceClient("", options).read_locally(); },
                        .sleep = [](auto time) { std::this_thread::sleep_for(time); },
                        .clock = clock};
  const auto made = maker.make(*request);
  if (!made) return failed("make-room", made.error());
  if (options.json) {
    put(room_json(*made, options.dry_run));
  } else {
    std::string out = wrapped("before: " + verdict(made->before), 0);
    for (const std::string& step : made->done) out += wrapped("- " + step, 2);
    if (made->done.empty()) out += "  nothing was done: nothing was needed, or would have helped\n";
    if (!options.dry_run) out += wrapped("after: " + verdict(made->after), 0);
    put(out);
  }
  return exit_code_of(made->after);
}

FitsOptions& add_options(const Command& command, int (*run)(const FitsOptions&)) {
  auto& options = command.runs(run);
  command.option("SIZE", options.size, "SIZE", "How much in one request: 12GiB, 64MiB").required();
  command
      .option(
          "--kind", options.kind, "KIND",
          "device (GPU), pinned, dmabuf, cma (one contiguous piece), contiguous (a driver's block)")
      .one_of({kMemoryKinds.begin(), kMemoryKinds.end()})
      .show_default();
  command.option("--wait", options.wait, "TIME", "Wait for it to fit for so long").show_default();
  command.json("As JSON (docs/fits.md)");
  return options;
}

}  // namespace

Result<RoomMade> RoomMaker::make(const RoomRequest& request) const {
  RoomMade out;
  const auto look = [&](FitsAnswer& to) -> Result<void> {
    const auto now = read();
    if (!now) return tl::unexpected(now.error());
    to = fits_answer(*now, request.kind, request.bytes);
    return {};
  };
  if (auto looked = look(out.before); !looked) return tl::unexpected(looked.error());
  out.after = out.before;
  if (out.before.fit != Fit::kAfterMakingRoom) return out;
  const auto step = [&](std::string what, auto act) -> Result<void> {
    if (out.after.fit == Fit::kNow) return {};
    if (!request.dry_run) {
      if (auto acted = act(); !acted) {
        std::string before;
        for (const std::string& each : out.done) before += "; done before that: " + each;
        acted.error().message += before;
        return acted;
      }
    }
    out.done.push_back(std::move(what));
    if (request.dry_run) return {};
    return look(out.after);
  };
  const auto drop = [&] {
    return step("write what is not on disk yet, and drop the page cache (" + drop_caches + ")",
                [&] {
                  ::sync();
                  return write_one(drop_caches);
                });
  };
  const auto squeeze = [&] {
    return step("compact memory (" + compact.trigger + ")", [&]() -> Result<void> {
      const auto compacted = compact_memory(compact, clock);
      if (!compacted) return tl::unexpected(compacted.error());
      return {};
    });
  };
  // Compaction makes blocks, not free memory, and without free memory it makes none.
  const bool needs_block = request.kind == MemoryKind::kContiguous;
  Result<void> done = needs_block ? squeeze() : drop();
  if (done && needs_block) done = drop();
  if (done && needs_block) done = squeeze();
  const Nanoseconds end = clock.mono() + request.wait;
  if (done && request.dry_run && request.wait.count() > 0) {
    out.done.push_back("wait at most " + format_duration(request.wait));
  }
  while (done && !request.dry_run && out.after.fit != Fit::kNow && clock.mono() < end) {
    sleep(kAskAgain);
    done = look(out.after);
  }
  if (!done) return tl::unexpected(done.error());
  return out;
}

void add_fits_command(const Command& program) {
  const Command command = program.add("fits", "Whether memory of one kind can be had now");
  add_options(command, run_fits);
  command.device();
  command.footer(
      std::string(kAsksDaemon) +
      "CUDA on a board that shares its memory reports only what is unused, so a program that sizes "
      "itself by it needs the page cache to give way first. Pinned memory and DMA-BUFs are met "
      "from the page cache by the kernel itself. docs/fits.md says what each kind is computed from "
      "and how often that was right.");
  command.exit_status(
      "0 if it fits, 1 if it does after jetmem make-room, 2 if it does not, 3 if that is unknown");
}

void add_make_room_command(const Command& program) {
  const Command command =
      program.add("make-room", "Drop caches and compact so that a request fits (needs root)");
  auto& options = add_options(command, run_make_room);
  command.flag("--dry-run", options.dry_run, "Only say what would be done");
  command.without_root();
  command.footer(
      "Does nothing unless that would help. Then it writes back and drops the page cache; for "
      "--kind contiguous it compacts memory before and behind that. It waits for as long as --wait "
      "says. What was cached is read from disk "
      "again, and cameras may drop frames meanwhile. Before a service starts:\n"
      "    ExecStartPre=+/usr/bin/jetmem make-room 12GiB --wait 30s");
  command.exit_status(
      "0 if it fits now, 1 if it would after making room (--dry-run), or only perhaps, 2 if it "
      "does not, 3 if that is unknown");
}

}  // namespace jetmem
