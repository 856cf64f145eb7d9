// SPDX-License-Identifier: Apache-2.0
#include "report/alerts/alert_order.h"

#include <algorithm>
#include <array>

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 20> kAlertOrder{
    // Broken hardware and a kernel or data that can no longer be trusted explain everything else.
    "JetmemMemoryErrorUncorrected", "JetmemMemoryError", "JetmemBusError", "JetmemKernelOops",
    "JetmemProbeMismatch",
    // Without memory, everything else fails as well.
    "JetmemOomKill", "JetmemMemoryExhausting", "JetmemMemoryStall", "JetmemMemoryLow",
    // A storm takes CPU time and fills the log.
    "JetmemSmmuStorm", "JetmemSmmuSuppressed",
    // Contiguous memory: what was refused before what may be.
    "JetmemDmaAllocationFailing", "JetmemCmaExhausted", "JetmemCmaAllocationFailing",
    "JetmemCmaFragmented", "JetmemCmaFreeLow", "JetmemNvmapCap", "JetmemNvmapCarveoutFull",
    "JetmemNvmapOrphansGrowing", "JetmemGpuFreeHidden"};

constexpr std::array<std::string_view, 3> kStateOrder{"firing", "pending", "unknown"};
constexpr std::array<std::string_view, 3> kSeverityOrder{"critical", "warning", "info"};

template <std::size_t size>
std::size_t place_in(const std::array<std::string_view, size>& names, std::string_view name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

using RankKey = std::array<std::size_t, 3>;

RankKey rank_key(const AlertRank& rank) {
  const std::size_t state = place_in(kStateOrder, rank.state);
  if (state == kStateOrder.size()) return {state, 0, 0};
  return {state, place_in(kSeverityOrder, rank.severity), alert_place(rank.alert)};
}

}  // namespace

std::span<const std::string_view> alerts_in_order() { return kAlertOrder; }

std::size_t alert_place(std::string_view alert) { return place_in(kAlertOrder, alert); }

bool comes_before(const AlertRank& a, const AlertRank& b) { return rank_key(a) < rank_key(b); }

}  // namespace jetmem
