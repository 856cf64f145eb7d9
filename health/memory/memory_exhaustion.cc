// SPDX-License-Identifier: Apache-2.0
#include "health/memory/memory_exhaustion.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "collectors/proc/meminfo.h"

namespace jetmem {
namespace {

constexpr std::array kMemoryExhaustionMetrics{
    gauge("jetmem_memory_exhaustion_seconds",
          "Time until MemAvailable and SwapFree are used up if they continue to shrink as in the "
          "last "
          "30 seconds. Absent when they do not shrink, or not to 0 within ten minutes. When "
          "jetmem_memory_available_ratio is low as well, an OOM kill is that far away."),
};

constexpr std::array<std::string_view, 1> kMemoryExhaustionSources{"meminfo"};

template <class Reading>
double loss_per_second(const Reading& from, const Reading& to) {
  const std::chrono::duration<double> passed = to.at - from.at;
  return passed.count() > 0 ? (from.left - to.left) / passed.count() : 0;
}

}  // namespace

const DerivedInfo MemoryExhaustion::kInfo{.name = "memory_exhaustion",
                                          .sources = kMemoryExhaustionSources,
                                          .metrics = kMemoryExhaustionMetrics,
                                          .write_at_once = true};

void MemoryExhaustion::add(Nanoseconds now, double left) {
  if (!readings_.empty()) {
    const Nanoseconds since = now - readings_.back().at;
    if (since < Nanoseconds(0) || since > kLongestGap) {
      readings_.clear();
    } else if (since < kSpacing) {
      return;
    }
  }
  std::erase_if(readings_, [&](const Reading& each) { return now - each.at > kWindow; });
  if (readings_.size() == kMost) readings_.erase(readings_.begin());
  readings_.push_back({now, left});
}

const MemoryExhaustion::Reading& MemoryExhaustion::since(Nanoseconds age) const {
  std::size_t i = readings_.size() - 1;
  while (i > 0 && readings_.back().at - readings_[i].at < age) --i;
  return readings_[i];
}

void MemoryExhaustion::write(SampleWriter& out, WriteContext& context) {
  const auto* meminfo = context.readings.get<Meminfo>();
  if (meminfo == nullptr) return context.absent.add("meminfo_unknown");
  const auto available = meminfo->find("MemAvailable");
  if (!available) return context.absent.add("line_unknown");
  // Other sources are read more often: the same figures again would look as if nothing shrank.
  if (const std::uint64_t number = context.readings.number<Meminfo>(); number != number_) {
    number_ = number;
    // A kernel without swap prints no SwapFree.
    add(context.now, static_cast<double>(*available + meminfo->find("SwapFree").value_or(0)));
  }
  if (readings_.empty() || readings_.back().at - readings_.front().at < kLeastSpan) {
    return context.absent.add("too_few_readings");
  }
  const Reading& newest = readings_.back();
  const Reading& recent = since(kRecent);
  const Reading& before = since(newest.at - recent.at + kRecent);
  if (before.at >= recent.at) return context.absent.add("too_few_readings");
  const double loss = std::min({loss_per_second(readings_.front(), newest),
                                loss_per_second(before, recent), loss_per_second(recent, newest)});
  if (loss <= 0 || newest.left > loss * kMostSeconds) {
    return context.absent.add("not_shrinking");
  }
  out.put(kMemoryExhaustionMetrics[0], newest.left / loss);
}

}  // namespace jetmem
