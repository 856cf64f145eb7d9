// SPDX-License-Identifier: Apache-2.0
// What changed between two looks at a device, or at two devices: pure, whatever they came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/answers/answer_head.h"
#include "report/device/device_now.h"

namespace jetmem {

struct DiffAnswer {
  static constexpr std::string_view kSchema = "jetmem-diff/1";
  static constexpr std::size_t kMostChanges = 5000;

  enum class How : std::uint8_t { kMoved, kAppeared, kVanished };
  struct Change {
    std::string key;
    std::string family;
    How how = How::kMoved;
    bool is_counter = false;
    std::optional<double> before;
    std::optional<double> after;
    std::optional<double> per_hour;  // of a counter in one boot: growth
    std::string note;                // "reset"
    double weight = 0;               // larger is more important
  };
  // Changes of one metric, the weightiest first.
  struct Section {
    std::string family;
    std::vector<Change> changes;
  };
  struct Named {
    std::string name;
    std::string before;  // empty: it was not there
    std::string after;
  };

  AnswerFrom before;
  AnswerFrom after;
  bool same_boot = false;
  std::optional<double> seconds;     // between them, where both say when
  std::vector<Section> sections;     // the weightiest first
  std::uint64_t small = 0;           // changes too small to list
  std::uint64_t omitted = 0;         // beyond kMostChanges
  std::vector<Named> facts;          // labels of ..._info metrics, and jetmem's version
  std::vector<Named> sources;        // whose state changed
  std::vector<Named> alerts;         // whose state changed
  std::vector<std::string> unknown;  // what could not be compared, and why
  std::vector<EventRecord> events;   // in between, oldest first
  bool more_events = false;
};

// `all`: small changes as well.
DiffAnswer diff_of(const DeviceNow& before, const DeviceNow& after, bool all);

std::string diff_json(const DiffAnswer& answer);

}  // namespace jetmem
