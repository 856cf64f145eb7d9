// SPDX-License-Identifier: Apache-2.0
#include "report/alerts/alert_order.h"

#include <algorithm>
#include <array>
#include <utility>

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 23> kAlertOrder{
    // Broken hardware and a kernel or data that can no longer be trusted explain everything else.
    "JetmemMemoryErrorUncorrected", "JetmemMemoryErrorsCountedUncorrected", "JetmemMemoryError",
    "JetmemMemoryErrorsCounted", "JetmemBusError", "JetmemKernelOops", "JetmemProbeMismatch",
    // Without memory, everything else fails as well.
    "JetmemOomKill", "JetmemMemoryExhausting", "JetmemMemoryStall", "JetmemMemoryLow",
    // A storm takes CPU time and fills the log.
    "JetmemSmmuStorm", "JetmemSmmuSuppressed",
    // Contiguous memory: what was refused before what may be.
    "JetmemDmaAllocationFailing", "JetmemCmaExhausted", "JetmemCmaAllocationFailing",
    "JetmemCmaFragmented", "JetmemCmaFreeLow", "JetmemNvmapCap", "JetmemNvmapCarveoutFull",
    "JetmemNvmapCarveoutRefused", "JetmemNvmapOrphansGrowing", "JetmemGpuFreeHidden"};

// A pending critical alert may be over before it fires: what only warns comes after it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kUrgency{
    {{"firing", "critical"},
     {"pending", "critical"},
     {"firing", "warning"},
     {"firing", "info"},
     {"pending", "warning"},
     {"pending", "info"},
     {"unknown", "critical"},
     {"unknown", "warning"},
     {"unknown", "info"}}};

template <class Values, class Value>
std::size_t place_in(const Values& values, const Value& value) {
  return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

using RankKey = std::array<std::size_t, 2>;

RankKey rank_key(const AlertRank& rank) {
  const std::size_t urgency = place_in(kUrgency, std::pair(rank.state, rank.severity));
  if (urgency == kUrgency.size()) return {urgency, 0};
  return {urgency, alert_place(rank.alert)};
}

}  // namespace

std::span<const std::string_view> alerts_in_order() { return kAlertOrder; }

std::size_t alert_place(std::string_view alert) { return place_in(kAlertOrder, alert); }

bool comes_before(const AlertRank& a, const AlertRank& b) { return rank_key(a) < rank_key(b); }

}  // namespace jetmem
