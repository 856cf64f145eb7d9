// SPDX-License-Identifier: Apache-2.0
#include "report/fits/fits_answer.h"

#include <algorithm>
#include <limits>

#include "base/text/text.h"
#include "report/answers/cma_answer.h"
#include "report/answers/fragmentation_answer.h"
#include "report/diagnosis/format.h"
#include "report/diagnosis/known_issues.h"

namespace jetmem {
namespace {

// Where neither jetmem's map nor buddyinfo tells it.
constexpr double kUsualPage = 4096;
// vm.watermark_boost_factor and vm.lowmem_reserve_ratio, as the kernel sets them.
constexpr double kBoost = 1.5;
constexpr double kLowmemReserveRatio = 256;

std::optional<double> less(std::optional<double> bytes, double taken) {
  if (bytes) bytes = std::max(*bytes - taken, 0.0);
  return bytes;
}

// What of MemAvailable lies in CMA areas, at most: free pages there, and page cache that drivers'
// buffers would displace, are of no use to a request for pages that cannot move.
double of_cma(const SampleSet& samples) {
  const double free = samples.meminfo("CmaFree").value_or(0);
  const auto areas = samples.sum("jetmem_cma_area_bytes");
  const auto used = samples.sum("jetmem_cma_used_bytes");
  // What drivers hold is in neither; where it is not known none of it is theirs.
  const double left = areas && used ? *areas - *used : samples.meminfo("CmaTotal").value_or(free);
  const auto active = samples.meminfo("Active_file");
  const auto inactive = samples.meminfo("Inactive_file");
  const double borrowed = active && inactive ? free + *active + *inactive : left;
  return std::max(free, std::min(borrowed, left));
}

double watermarks(const SampleSet& samples, std::string_view watermark) {
  double sum = 0;
  for (const Sample& mark : samples.family("jetmem_zone_watermark_bytes")) {
    if (mark.label("watermark") == watermark) sum += mark.value;
  }
  return sum;
}

// Pages that cannot move: the kernel gives up cache for them by itself. While they displace movable
// pages it raises its reserve, by kBoost of the high watermarks at most.
void unmovable(const DeviceNow& now, FitsAnswer& out) {
  const auto available = now.samples.meminfo("MemAvailable");
  const double high = watermarks(now.samples, "high");
  out.now_bytes = less(available, of_cma(now.samples) + kBoost * high);
  explain(out.absent, "now_bytes", out.now_bytes, now.absence_reason("meminfo"));
  // MemAvailable leaves out as much as the kernel may yet grant.
  out.room_bytes = less(available, now.samples.meminfo("CmaFree").value_or(0) - high);
  if (!out.now_bytes || out.bytes <= *out.now_bytes || out.bytes > *out.room_bytes) return;
  out.fit = Fit::kAfterMakingRoom;
  out.is_guess = true;
  out.why = doctor::bytes(*out.now_bytes) + " are certain; up to " +
            doctor::bytes(*out.room_bytes) +
            " depend on how much page cache is in CMA areas and on the kernel's reserve";
}

double page_of(const DeviceNow& now) {
  if (now.cma_map && now.cma_map->page_bytes) return static_cast<double>(*now.cma_map->page_bytes);
  return fragmentation_answer(now).page_bytes.value_or(kUsualPage);
}

bool is_shared_by_a_gpu(const SampleSet& samples) {
  const auto infos = samples.family("jetmem_device_info");
  const auto gpus = samples.family("jetmem_nvml_gpu_integrated");
  return (!infos.empty() && !infos[0].label("l4t").empty()) ||
         samples.value("jetmem_gpu_free_hidden_ratio") ||
         samples.value("jetmem_gpu_available_bytes") ||
         std::any_of(gpus.begin(), gpus.end(), [](const Sample& gpu) { return gpu.value == 1; });
}

// A card has memory of its own; nothing else makes room there.
bool on_card(const DeviceNow& now, FitsAnswer& out) {
  for (const Sample& gpu : now.samples.family("jetmem_nvml_memory_free_bytes")) {
    if (out.now_bytes && *out.now_bytes >= gpu.value) continue;
    out.now_bytes = out.room_bytes = gpu.value;
    out.where = "GPU " + printable(gpu.label("gpu"), 40);
  }
  return out.now_bytes.has_value();
}

void fit_device(const DeviceNow& now, FitsAnswer& out) {
  const SampleSet& samples = now.samples;
  if (on_card(now, out)) {
    out.notes.emplace_back("A process that begins needs some hundred MiB for its context first.");
    return;
  }
  if (!is_shared_by_a_gpu(samples)) {
    explain(out.absent, "now_bytes", std::nullopt, "no GPU that shares this memory is known here");
    return;
  }
  out.room_bytes = less(samples.meminfo("MemAvailable"), of_cma(samples));
  if (const auto nvmap = samples.value("jetmem_gpu_available_bytes"); nvmap && out.room_bytes) {
    out.room_bytes = std::min(*nvmap, *out.room_bytes);
  }
  out.now_bytes = less(samples.meminfo("MemFree"),
                       samples.meminfo("CmaFree").value_or(0) + watermarks(samples, "low"));
  explain(out.absent, "now_bytes", out.now_bytes, now.absence_reason("meminfo"));
  const auto infos = samples.family("jetmem_device_info");
  const std::string l4t = infos.empty() ? std::string() : printable(infos[0].label("l4t"), 40);
  if (diagnosis::nvmap_limit(l4t) == diagnosis::NvmapLimit::kRefuses) {
    out.notes.push_back("nvmap of L4T " + l4t + " may refuse a large request although it fits.");
  }
}

// Where a run begins only jetmem's map knows; else the kernel's alignment may cost the most.
std::optional<double> largest_request(const CmaAnswer::Area& area, double page) {
  if (area.largest_request_bytes || !area.largest_run_bytes) return area.largest_request_bytes;
  const auto pages = static_cast<std::uint64_t>(*area.largest_run_bytes / page);
  return page * static_cast<double>(cma_request_in(1, 1 + pages));
}

void fit_cma(const DeviceNow& now, FitsAnswer& out) {
  const CmaAnswer areas = cma_answer(now);
  const double page = page_of(now);
  double largest_run = 0;
  double unknown = 0;  // the most that an area of which no run is known may have in one
  std::string why_unknown;
  for (const CmaAnswer::Area& area : areas.areas) {
    const auto request = largest_request(area, page);
    if (!request) {
      const auto left = less(area.bytes, area.used_bytes.value_or(0));
      unknown = std::max(unknown, left.value_or(std::numeric_limits<double>::infinity()));
      why_unknown = "the largest free run of area " + area.name +
                    " is not known: " + absence_reason(area.absent, "largest_run_bytes");
      continue;
    }
    if (!area.largest_request_bytes) largest_run = std::max(largest_run, *area.largest_run_bytes);
    if (out.now_bytes && *out.now_bytes >= *request) continue;
    out.now_bytes = request;
    out.where = "area " + area.name;
  }
  if (areas.has_cma == false) {
    out.now_bytes = 0;
    out.fit = Fit::kNo;
    out.why = "there is no CMA area here";
  }
  // What borrows the area must have somewhere to go.
  const auto elsewhere = less(now.samples.meminfo("MemAvailable"), of_cma(now.samples));
  const double most = elsewhere ? *elsewhere + now.samples.meminfo("CmaFree").value_or(0)
                                : std::numeric_limits<double>::infinity();
  if (out.now_bytes && out.bytes > most && out.bytes <= *out.now_bytes) {
    out.now_bytes = most;
    out.why = "the run is large enough, but " + doctor::bytes(most) +
              " is all that is free or can take in what borrows it";
    return;
  }
  if (out.now_bytes && out.bytes > *out.now_bytes && out.bytes <= largest_run) {
    out.why = "the largest free run is " + doctor::bytes(largest_run) +
              ", and where it begins decides whether an aligned request fits: " +
              now.absence_reason("cma_map", "its map is incomplete");
    return;
  }
  if (unknown > 0 && out.bytes <= unknown && out.bytes > out.now_bytes.value_or(0)) {
    out.why = why_unknown;
    return;
  }
  out.room_bytes = out.now_bytes;
  if (out.now_bytes) return;
  explain(out.absent, "now_bytes", std::nullopt,
          why_unknown.empty() ? now.absence_reason("cma") : why_unknown);
  // More than is left in whatever pieces cannot be had in one.
  if (unknown > 0) {
    out.fit = Fit::kNo;
    out.why = "no area has more than " + doctor::bytes(unknown) + " left in any pieces";
  }
}

void contiguous(const DeviceNow& now, FitsAnswer& out) {
  const FragmentationAnswer zones = fragmentation_answer(now);
  const double page = zones.page_bytes.value_or(kUsualPage);
  double largest_block = 0;
  std::string node;
  double above = 0;  // managed bytes of the node's zones above
  for (auto zone = zones.zones.rbegin(); zone != zones.zones.rend(); ++zone) {
    if (zone->zone == "Movable" || zone->zone == "Device") continue;
    if (zone->node != node) above = 0;
    node = zone->node;
    for (const auto& order : zone->orders) {
      largest_block = std::max(largest_block, order.block_bytes.value_or(0));
    }
    auto block = zone->largest_bytes_outside_cma;
    // The kernel keeps a zone's reserve from such requests, and more of it the more memory could
    // serve them in zones above.
    const auto usable = less(zone->above_min_bytes, above / kLowmemReserveRatio);
    while (block && usable && *block > *usable) block = *block >= 2 * page ? *block / 2 : 0;
    above += zone->managed_bytes.value_or(0);
    if (!block || (out.now_bytes && *out.now_bytes >= *block)) continue;
    out.now_bytes = block;
    out.where = "zone " + zone->zone;
  }
  explain(out.absent, "now_bytes", out.now_bytes, absence_reason(zones.absent, "best_bytes"));
  explain(out.absent, "room_bytes", std::nullopt,
          "what compaction brings is not known before it ran");
  if (!out.now_bytes || *out.now_bytes >= out.bytes) return;
  const auto available =
      less(now.samples.meminfo("MemAvailable"), now.samples.meminfo("CmaFree").value_or(0));
  if (out.bytes > largest_block) {
    out.fit = Fit::kNo;
    out.why = "the kernel has no block of more than " + doctor::bytes(largest_block) +
              " outside of CMA areas";
  } else if (available && *available >= out.bytes) {
    out.fit = Fit::kAfterMakingRoom;
    out.is_guess = true;
    out.why = "no free block is that large, but compaction may make one";
  } else if (available) {
    out.fit = Fit::kNo;
    out.why = "less memory is available";
  }
}

void judge_fit(const DeviceNow& now, FitsAnswer& out) {
  if (out.fit != Fit::kUnknown || !out.why.empty()) return;
  const auto most = [](const std::optional<double>& bytes) { return doctor::bytes(*bytes); };
  if (!out.now_bytes && !out.room_bytes) {
    out.why = absence_reason(out.absent, "now_bytes");
  } else if (out.now_bytes && out.bytes <= *out.now_bytes) {
    out.fit = Fit::kNow;
    out.why = "the most is " + most(out.now_bytes);
  } else if (out.room_bytes && out.bytes <= *out.room_bytes) {
    out.fit = Fit::kAfterMakingRoom;
    out.why =
        (out.now_bytes ? most(out.now_bytes) + " are unused" : "what is unused is not known") +
        ", and " + most(out.room_bytes) + " if the page cache gives way";
  } else if (out.room_bytes) {
    out.fit = Fit::kNo;
    out.why = "the most is " + most(out.room_bytes) +
              (out.kind == MemoryKind::kCma ? " in one piece, "
               : out.where.empty()          ? " with an empty page cache, "
                                            : ", ") +
              doctor::bytes(out.bytes - *out.room_bytes) + " less";
  }
  if (out.why.empty()) out.why = now.absence_reason("meminfo", "MemAvailable is not reported");
}

void look_ahead(const DeviceNow& now, FitsAnswer& out) {
  const auto left = out.kind == MemoryKind::kDevice ? out.room_bytes : out.now_bytes;
  const auto growth = now.samples.value("jetmem_trend_bytes_per_second", {{"of", "MemAvailable"}});
  const bool shrinks = out.kind != MemoryKind::kCma && out.kind != MemoryKind::kContiguous &&
                       growth && *growth < 0 && out.where.empty();
  if (!shrinks || !left || *left < out.bytes) return;
  out.shrinks_away_seconds = (*left - out.bytes) / -*growth;
}

}  // namespace

std::string_view fit_name(Fit fit) {
  constexpr std::array<std::string_view, 4> kNames{"now", "after_making_room", "no", "unknown"};
  return kNames[static_cast<std::size_t>(fit)];
}

FitsAnswer fits_answer(const DeviceNow& now, MemoryKind kind, double bytes) {
  FitsAnswer out;
  out.from = answer_from(now);
  out.kind = kind;
  out.bytes = bytes;
  constexpr std::array kFind{fit_device, unmovable, unmovable, fit_cma, contiguous};
  kFind[static_cast<std::size_t>(kind)](now, out);
  judge_fit(now, out);
  look_ahead(now, out);
  return out;
}

static void describe(json::Fields& v, FitsAnswer& answer) {
  describe_head(v, FitsAnswer::kSchema, answer.from);
  auto kind = std::string(kMemoryKinds[static_cast<std::size_t>(answer.kind)]);
  auto fit = std::string(fit_name(answer.fit));
  v("kind", kind);
  v("bytes", answer.bytes);
  v("fits", fit);
  v("is_guess", answer.is_guess);
  v.unless_empty("where", answer.where);
  v.unless_empty("why", answer.why);
  v("now_bytes", answer.now_bytes);
  v("after_making_room_bytes", answer.room_bytes);
  v("shrinks_away_seconds", answer.shrinks_away_seconds);
  v("notes", answer.notes);
  v.absent(answer.absent);
}

std::string fits_json(const FitsAnswer& answer) { return json::write(answer); }

}  // namespace jetmem
