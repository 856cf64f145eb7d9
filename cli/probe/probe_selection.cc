// SPDX-License-Identifier: Apache-2.0
#include "cli/probe/probe_selection.h"

#include <algorithm>
#include <string_view>

#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/draw/number_text.h"
#include "config/yaml_fields.h"

namespace jetmem {
namespace {

constexpr std::uint64_t kLeastFrame = 4U << 10;
constexpr std::uint64_t kLargestFrame = 256U << 20;
constexpr std::uint64_t kLeftToOthers = 512U << 20;  // by a bisection
constexpr std::uint64_t kLargestPage = 64U << 10;
constexpr std::array kBisectable{"dmabuf", "pinned", "device"};

}  // namespace

Result<ProbeSelection> understand(const ProbeOptions& options) {
  ProbeSelection needed;
  std::vector<std::string_view> all;
  for (const ProbeGroup group : {ProbeGroup::kMemory, ProbeGroup::kCuda}) {
    for (const std::string_view kind : probe_kinds(group)) all.push_back(kind);
  }
  for (const std::string& kind : options.kinds) {
    if (probe_group_of(kind)) continue;
    return fail(Errc::kInvalid, "unknown kind '" + printable(kind, 60) + "'" +
                                    did_you_mean(kind, all) + "; known: " + join_names(all));
  }
  for (const std::string_view kind : all) {
    const bool requested =
        options.kinds.empty() ||
        std::find(options.kinds.begin(), options.kinds.end(), kind) != options.kinds.end();
    const auto group = static_cast<std::size_t>(*probe_group_of(kind));
    if (requested) needed.kinds[group].emplace_back(kind);
  }
  const auto frame = parse_size(options.size);
  if (!frame) return tl::unexpected(Error(frame.error()).within("--size"));
  if (*frame < kLeastFrame || *frame > kLargestFrame) {
    return fail(Errc::kInvalid, "--size: expected a size from " + format_size(kLeastFrame) +
                                    " to " + format_size(kLargestFrame) + ", found " +
                                    printable(options.size, 40));
  }
  needed.frame_bytes = *frame;
  const auto deadline = parse_duration(options.deadline);
  if (!deadline) return tl::unexpected(Error(deadline.error()).within("--deadline"));
  needed.deadline = std::chrono::ceil<std::chrono::seconds>(*deadline);
  if (*deadline < std::chrono::seconds(1) || *deadline > std::chrono::minutes(10)) {
    return fail(Errc::kInvalid, "--deadline: expected a duration from 1s to 10m, found " +
                                    printable(options.deadline, 40));
  }
  if (!options.limit.empty()) {
    const auto limit = parse_size(options.limit);
    if (!limit) return tl::unexpected(Error(limit.error()).within("--limit"));
    if (*limit < *frame) {
      return fail(Errc::kInvalid, "--limit: expected at least the --size, " + format_size(*frame) +
                                      ", found " + printable(options.limit, 40));
    }
    needed.limit = *limit;
  }
  if (options.bisect) {
    const bool one = options.kinds.size() == 1 &&
                     std::find(kBisectable.begin(), kBisectable.end(), options.kinds.front()) !=
                         kBisectable.end();
    if (!one) {
      return fail(Errc::kInvalid, "--bisect requires one --kind: dmabuf, pinned or device");
    }
  }
  return needed;
}

Result<BisectLimit> bisect_limit(const ProbeSelection& needed, const GateInputs& now, bool force) {
  if (force && needed.limit) {
    if (*needed.limit == 0) return fail(Errc::kInvalid, "--bisect: --limit is 0");
    return BisectLimit{*needed.limit, {}};
  }
  const std::string hint =
      force ? "; set the maximum with --limit SIZE" : "; --force --limit SIZE overrides this";
  // A buffer of a CMA heap comes out of CMA; jetmem-probe itself lowers the limit for udmabuf.
  const bool with_cma = !needed.kinds[static_cast<std::size_t>(ProbeGroup::kMemory)].empty();
  const auto& available = with_cma ? now.available_with_cma_bytes : now.available_bytes;
  const std::string name = with_cma ? "MemAvailable" : "MemAvailable minus free CMA";
  if (!available) {
    return fail(Errc::kUnavailable, "--bisect: MemAvailable is unknown" + hint);
  }
  const std::uint64_t room = *available > kLeftToOthers ? *available - kLeftToOthers : 0;
  if (room < needed.frame_bytes) {
    return fail(Errc::kUnavailable, "--bisect: " + name + " is " + bytes_text(*available) +
                                        ", and " + bytes_text(kLeftToOthers) +
                                        " of it are reserved for other programs" + hint);
  }
  BisectLimit limit;
  if (needed.limit && *needed.limit > room) {
    limit.warning = "--limit: lowered to " + bytes_text(room) + ", " + name + " minus " +
                    bytes_text(kLeftToOthers) + hint;
  }
  // Whole pages, of whatever size.
  limit.bytes = std::min(needed.limit.value_or(room), room) & ~(kLargestPage - 1);
  // 0 would ask for an ordinary probe.
  if (limit.bytes == 0) {
    return fail(Errc::kInvalid, "--bisect: at most " +
                                    bytes_text(std::min(needed.limit.value_or(room), room)) +
                                    " may be taken, less than " + bytes_text(kLargestPage));
  }
  return limit;
}

}  // namespace jetmem
