// jetmem compact: has the kernel compact memory now, and shows what it brought.

#include "cli/compact.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/small_file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace jetmem {
namespace {

struct CompactOptions {
  bool json = false;
};

Result<std::vector<ZoneFree>> look(const CompactFiles& files) {
  Buddyinfo buddyinfo;
  Zoneinfo zoneinfo;
  const auto blocks = read_small_file(files.buddyinfo);
  if (!blocks) return tl::unexpected(blocks.error());
  if (auto ok = parse_buddyinfo(*blocks, buddyinfo); !ok) {
    return tl::unexpected(std::move(ok.error()).within(files.buddyinfo));
  }
  const auto zones = read_small_file(files.zoneinfo);
  if (!zones) return tl::unexpected(zones.error());
  if (auto ok = parse_zoneinfo(*zones, zoneinfo); !ok) {
    return tl::unexpected(std::move(ok.error()).within(files.zoneinfo));
  }
  return free_blocks(buddyinfo, zoneinfo);
}

std::string words_of(std::optional<unsigned> order) { return order ? std::to_string(*order) : "-"; }

std::string words_of(std::optional<double> ratio) {
  if (!ratio) return "-";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f%%", *ratio * 100);
  return text.data();
}

void print_text(const CompactionReport& report) {
  std::printf("Memory was compacted in %.3f s.\n\n", to_seconds(report.took));
  std::printf("%4s %-8s %22s", "NODE", "ZONE", "LARGEST FREE ORDER");
  for (const std::size_t order : kCompactionOrders) {
    std::printf(" %22s", ("UNUSABLE AT ORDER " + std::to_string(order)).c_str());
  }
  std::printf("\n");
  const auto change = [](const auto& before, const auto& after) {
    std::printf(" %22s", (words_of(before) + " -> " + words_of(after)).c_str());
  };
  for (const CompactionReport::Zone& zone : report.zones) {
    std::printf("%4u %-8s", zone.id.node, zone.id.name.c_str());
    change(zone.before.largest_order, zone.after.largest_order);
    for (std::size_t i = 0; i < kCompactionOrders.size(); ++i) {
      change(zone.before.unusable[i], zone.after.unusable[i]);
    }
    std::printf("\n");
  }
  const bool unknown =
      std::any_of(report.zones.begin(), report.zones.end(),
                  [](const CompactionReport::Zone& zone) { return !zone.before.unusable.front(); });
  std::printf("\nFree pages of contiguous areas (CMA) are left out.%s\n",
              unknown ? " -: nothing is free, or not known without them." : "");
}

int run(const std::string& root, const CompactOptions& options) {
  if (!root.empty()) {
    std::fprintf(stderr, "jetmem compact: it works on this machine only, not below --root\n");
    return kExitUsage;
  }
  const SystemClock clock;
  const auto report = compact_memory({}, clock);
  if (!report) {
    // Who reads the JSON may see nothing else.
    if (options.json) std::fputs(compaction_error_json(report.error().message).c_str(), stdout);
    std::fprintf(stderr, "jetmem compact: %s\n", printable(report.error().message, 500).c_str());
    return kExitFailed;
  }
  if (options.json) {
    std::fputs(to_json(*report).c_str(), stdout);
  } else {
    print_text(*report);
  }
  return kExitOk;
}

}  // namespace

Result<CompactionReport> compact_memory(const CompactFiles& files, const Clock& clock) {
  const UniqueFd trigger(::open(files.trigger.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!trigger.valid()) {
    Error error = errno_error("open", files.trigger, errno);
    if (error.code == Errc::kDenied) error.message += ": only root may; try sudo jetmem compact";
    if (error.code == Errc::kAbsent) error.message += ": this kernel cannot compact memory";
    return tl::unexpected(std::move(error));
  }
  const auto before = look(files);
  if (!before) return tl::unexpected(before.error());
  const Nanoseconds begin = clock.mono();
  if (::write(trigger.get(), "1", 1) != 1) {
    return tl::unexpected(errno_error("write to", files.trigger, errno));
  }
  const Nanoseconds took = clock.mono() - begin;
  auto after = look(files);
  if (!after) {
    return tl::unexpected(std::move(after.error()).within("memory was compacted, but afterwards"));
  }
  return compaction_report(*before, *after, took);
}

void add_compact_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "compact", "Have the kernel compact memory now, and show what it brought (needs root)");
  auto options = std::make_shared<CompactOptions>();
  command->add_flag("--json", options->json, "As JSON in one line");
  command->footer(
      "Compaction moves pages so that the free ones lie together. While it runs, allocations may\n"
      "wait and cameras may lose frames: not while every frame counts. What cannot be moved\n"
      "(drivers' memory) stays, so it may bring nothing. Shown for each zone: the order of the\n"
      "largest free block, and the share of free memory in blocks smaller than an order.\n"
      "Exit status: 0; 1 when it could not be done; 2 on a wrong command line.");
  command->callback([options, &context] { context.status = run(context.root, *options); });
}

}  // namespace jetmem
