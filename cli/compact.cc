// jetmem compact: has the kernel compact memory now, and shows what it brought.

#include "cli/compact.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/small_file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace jetmem {
namespace {

struct CompactOptions {
  bool json = false;
  std::string at_most_every;
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

// systemd's directory for the unit: memory, root's own, and there until the next boot.
Result<void> take_turn_of_unit(std::chrono::milliseconds least, const Clock& clock) {
  const char* directory = std::getenv("RUNTIME_DIRECTORY");
  if (directory == nullptr || *directory != '/') {
    return fail(Errc::kInvalid, "--at-most-every: no RUNTIME_DIRECTORY to keep the last time in");
  }
  return take_turn(std::string(directory) + "/last", least, clock);
}

int run_compact(const std::string& root, const CompactOptions& options) {
  if (!root.empty()) {
    std::fprintf(stderr, "jetmem compact: it works on this machine only, not below --root\n");
    return kExitUsage;
  }
  const SystemClock clock;
  Result<void> turn;
  if (!options.at_most_every.empty()) {
    const auto least = parse_duration(options.at_most_every);
    if (!least) {
      std::fprintf(stderr, "jetmem compact: --at-most-every: %s\n", least.error().message.c_str());
      return kExitUsage;
    }
    turn = take_turn_of_unit(*least, clock);
  }
  const auto report = turn ? compact_memory({}, clock) : tl::unexpected(turn.error());
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

// When it was last, on the boot clock; nothing where that is not known.
std::optional<Nanoseconds> last_turn(int fd) {
  std::array<char, 32> bytes;
  const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), 0);
  std::string_view text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  const auto seconds = take_u64(text);
  if (!seconds || text != "\n" || *seconds > 1U << 31) return std::nullopt;
  return std::chrono::seconds(*seconds);
}

}  // namespace

Result<void> take_turn(const std::string& path, std::chrono::milliseconds least,
                       const Clock& clock) {
  const UniqueFd fd(::open(path.c_str(),
                           O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                           S_IRUSR | S_IWUSR));
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) {
    return tl::unexpected(errno_error("open", path, errno));
  }
  if (!S_ISREG(status.st_mode)) return fail(Errc::kNotRegular, path + " is no regular file");
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(Errc::kUnavailable, "memory is being compacted for somebody else");
  }
  const Nanoseconds now = clock.boot();
  const auto last = last_turn(fd.get());
  const bool is_first = status.st_size == 0;
  if (last && *last <= now && now - *last < least) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(least - (now - *last));
    return fail(Errc::kUnavailable, "memory was compacted less than " + format_duration(least) +
                                        " ago; not again for " + format_duration(left));
  }
  const std::string text =
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now).count()) + "\n";
  // Before anything is done: what cannot be kept is no limit.
  if (::ftruncate(fd.get(), 0) != 0 ||
      ::pwrite(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return tl::unexpected(errno_error("write", path, errno));
  }
  if (is_first || (last && *last <= now)) return {};
  return fail(Errc::kUnavailable, "when memory was compacted last is not known: " + path +
                                      " was no time; it is one now");
}

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
  command
      ->add_option("--at-most-every", options->at_most_every,
                   "Refuse where the last time with this option was less than this ago (5m); kept\n"
                   "in $RUNTIME_DIRECTORY: for the unit behind jetmem-compact.socket")
      ->type_name("TIME");
  command->footer(
      "Compaction moves pages so that the free ones lie together. While it runs, allocations may\n"
      "wait and cameras may lose frames: not while every frame counts. What cannot be moved\n"
      "(drivers' memory) stays, so it may bring nothing. Shown for each zone: the order of the\n"
      "largest free block, and the share of free memory in blocks smaller than an order.\n"
      "Exit status: 0; 1 when it could not be done; 2 on a wrong command line.");
  command->callback([options, &context] { context.status = run_compact(context.root, *options); });
}

}  // namespace jetmem
