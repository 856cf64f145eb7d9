// SPDX-License-Identifier: Apache-2.0
// How contiguous free memory is, zone by zone: free blocks by order, what a driver can still have
// in one piece, and what the kernel does about it. docs/status.md has the JSON form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/answers/answer_head.h"

namespace jetmem {

struct FragmentationAnswer {
  static constexpr std::string_view kSchema = "jetmem-fragmentation/1";
  static constexpr std::size_t kMaxZones = 32;
  static constexpr std::size_t kMaxOrders = 32;

  struct Order {
    int order = 0;
    std::optional<double> block_bytes;
    std::optional<double> free_blocks;
    std::optional<double> free_bytes;
    std::optional<double> share;           // of the zone's free memory
    std::optional<double> unusable_ratio;  // for a request of this order, without free CMA pages
    std::optional<double> unusable_with_cma_ratio;
  };

  struct Zone {
    std::string node;
    std::string zone;
    std::optional<double> managed_bytes;
    std::optional<double> free_bytes;
    std::optional<double> free_cma_bytes;
    std::optional<double> largest_order;  // CMA included
    std::optional<double> largest_order_outside_cma;
    std::optional<double> largest_bytes_outside_cma;
    std::optional<double> watermark_min_bytes;
    std::optional<double> watermark_low_bytes;
    std::optional<double> watermark_high_bytes;
    std::optional<double> watermark_boost_bytes;
    std::optional<double> above_min_bytes;  // for drivers' (unmovable) requests
    std::optional<double> above_low_bytes;
    std::vector<Order> orders;                               // ascending
    std::vector<std::pair<std::string, double>> pageblocks;  // by mobility type
    Absences absent;
  };

  AnswerFrom from;
  std::optional<double> page_bytes;
  std::optional<double> best_bytes;  // the most that a driver gets in one piece; 0: nothing
  std::optional<double> evidence;    // jetmem_fragmentation_evidence
  std::optional<double> compact_stall;
  std::optional<double> compact_success;
  std::optional<double> compact_fail;
  std::optional<double> thp_fallback;
  std::optional<double> allocstall;
  std::vector<Zone> zones;
  std::uint64_t zones_omitted = 0;
  Absences absent;
};

FragmentationAnswer fragmentation_answer(const DeviceNow& now);
void describe(json::Fields& v, FragmentationAnswer::Zone& zone);
std::string fragmentation_json(const FragmentationAnswer& answer);

}  // namespace jetmem
