#include "cli/probe_wanted.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "base/units.h"

namespace jetmem {
namespace {

constexpr std::uint64_t kLeastFrame = 4U << 10;
constexpr std::uint64_t kLargestFrame = 256U << 20;
constexpr std::uint64_t kLeftToOthers = 512U << 20;  // by a bisection
constexpr std::array kBisectable{"dmabuf", "pinned", "device"};

}  // namespace

Result<WantedProbes> understand(const ProbeOptions& options) {
  WantedProbes wanted;
  std::vector<std::string_view> all;
  for (const ProbeGroup group : {ProbeGroup::kMemory, ProbeGroup::kCuda}) {
    for (const std::string_view kind : probe_kinds(group)) all.push_back(kind);
  }
  for (const std::string& kind : options.kinds) {
    if (probe_group_of(kind)) continue;
    std::string message = "no kind is called '" + printable(kind, 60) + "'";
    const std::string_view near = nearest_name(kind, all);
    if (!near.empty()) message += "; did you mean '" + std::string(near) + "'?";
    message += (near.empty() ? "; " : " ") + std::string("there are");
    for (const std::string_view each : all) message += " " + std::string(each);
    return fail(Errc::kInvalid, std::move(message));
  }
  for (const std::string_view kind : all) {
    const bool asked =
        options.kinds.empty() ||
        std::find(options.kinds.begin(), options.kinds.end(), kind) != options.kinds.end();
    const auto group = static_cast<std::size_t>(*probe_group_of(kind));
    if (asked) wanted.kinds[group].emplace_back(kind);
  }
  const auto frame = parse_size(options.size);
  if (!frame) return tl::unexpected(Error(frame.error()).within("--size"));
  if (*frame < kLeastFrame || *frame > kLargestFrame) {
    return fail(Errc::kInvalid, "--size: expected a size from " + format_size(kLeastFrame) +
                                    " to " + format_size(kLargestFrame) + ", found " +
                                    printable(options.size, 40));
  }
  wanted.frame_bytes = *frame;
  const auto deadline = parse_duration(options.deadline);
  if (!deadline) return tl::unexpected(Error(deadline.error()).within("--deadline"));
  wanted.deadline = std::chrono::ceil<std::chrono::seconds>(*deadline);
  if (*deadline < std::chrono::seconds(1) || *deadline > std::chrono::minutes(10)) {
    return fail(Errc::kInvalid, "--deadline: expected a duration from 1s to 10m, found " +
                                    printable(options.deadline, 40));
  }
  if (!options.limit.empty()) {
    if (!options.bisect) return fail(Errc::kInvalid, "--limit goes with --bisect");
    const auto limit = parse_size(options.limit);
    if (!limit) return tl::unexpected(Error(limit.error()).within("--limit"));
    if (*limit < *frame) {
      return fail(Errc::kInvalid, "--limit: expected at least the --size, " + format_size(*frame) +
                                      ", found " + printable(options.limit, 40));
    }
    wanted.limit = *limit;
  }
  if (options.bisect) {
    const bool one = options.kinds.size() == 1 &&
                     std::find(kBisectable.begin(), kBisectable.end(), options.kinds.front()) !=
                         kBisectable.end();
    if (!one) {
      return fail(Errc::kInvalid, "--bisect needs one --kind, of dmabuf, pinned and device");
    }
  }
  return wanted;
}

Result<BisectLimit> bisect_limit(const WantedProbes& wanted, const GateInputs& now, bool force) {
  if (force && wanted.limit) return BisectLimit{*wanted.limit, {}};
  const std::string hint =
      force ? "; --limit SIZE says how far to go" : "; --force --limit SIZE goes over that";
  // A buffer of a CMA heap comes out of CMA; jetmem-probe itself lowers the limit for udmabuf.
  const bool with_cma = !wanted.kinds[static_cast<std::size_t>(ProbeGroup::kMemory)].empty();
  const auto& available = with_cma ? now.available_with_cma_bytes : now.available_bytes;
  const std::string name = with_cma ? "MemAvailable" : "MemAvailable less free CMA";
  if (!available) {
    return fail(Errc::kUnavailable, "--bisect: MemAvailable is not known now" + hint);
  }
  const std::uint64_t room = *available > kLeftToOthers ? *available - kLeftToOthers : 0;
  if (room < wanted.frame_bytes) {
    return fail(Errc::kUnavailable,
                "--bisect: " + name + " is " + std::to_string(*available >> 20) + "MiB, and " +
                    format_size(kLeftToOthers) + " of it are left to others" + hint);
  }
  BisectLimit limit;
  if (wanted.limit && *wanted.limit > room) {
    limit.warning = "--limit: lowered to " + std::to_string(room >> 20) + "MiB, " + name +
                    " less " + format_size(kLeftToOthers) + hint;
  }
  // Whole pages, of whatever size.
  limit.bytes = std::min(wanted.limit.value_or(room), room) & ~std::uint64_t{0xffff};
  return limit;
}

}  // namespace jetmem
