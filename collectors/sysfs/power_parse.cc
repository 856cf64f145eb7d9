// SPDX-License-Identifier: Apache-2.0
// From the text of the power monitors' files to a reading.

#include "collectors/sysfs/power_parse.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include "base/text/text.h"
#include "collectors/storage.h"
#include "collectors/sysfs/power.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

using power::is_ina3221;
using power::is_missing;
using power::is_not_connected;
using power::is_other_monitor;
using power::kHwmon;
using power::kIio;
using power::kMaxRails;

constexpr std::size_t kMaxChips = 16;
constexpr std::size_t kChannels = 3;

// The largest limit that the chip's register holds, over the shunt: 4095 steps of 40 uV.
constexpr double kMostMicrovolts = 163'800;

constexpr std::string_view kNotConnected = "not_connected";
constexpr std::string_view kDisabled = "disabled";

enum class ChipKind : std::uint8_t { kIna3221, kOther, kOldDriver };

struct RawChannel {
  Record label = kNoRecord;
  Record enable = kNoRecord;
  Record watts = kNoRecord;
  Record volts = kNoRecord;
  Record amperes = kNoRecord;
  Record warning = kNoRecord;
  Record critical = kNoRecord;
  Record shunt = kNoRecord;

  bool is_there() const { return label != kNoRecord || volts != kNoRecord || amperes != kNoRecord; }
};

struct RawChip {
  std::string_view folder;
  ChipKind kind = ChipKind::kOther;
  std::uint32_t number = 0;  // hwmon<N> or iio:device<N>
  std::string_view name;
  std::array<RawChannel, kChannels> channels{};
};

// The digits at the end of a name: "hwmon12".
std::optional<std::uint32_t> number_after(std::string_view name, std::string_view prefix) {
  return take_prefix(name, prefix) ? small_number(name) : std::nullopt;
}

// "in_voltage2_input" with "in_voltage", "_input": 2.
std::optional<std::size_t> channel_in(std::string_view leaf, std::string_view before,
                                      std::string_view after, std::size_t first) {
  if (!take_prefix(leaf, before) || leaf.size() != 1 + after.size()) return std::nullopt;
  if (leaf.substr(1) != after || !is_digit(leaf[0])) return std::nullopt;
  const auto digit = static_cast<std::size_t>(leaf[0] - '0');
  if (digit < first || digit - first >= kChannels) return std::nullopt;
  return digit - first;
}

// What a chip's file is, or null.
Record* record_of(RawChip& chip, std::string_view leaf) {
  struct Leaf {
    std::string_view before;
    std::string_view after;
    Record RawChannel::*record;
  };
  static constexpr std::array<Leaf, 7> kHwmonLeaves{{
      {"in", "_label", &RawChannel::label},
      {"in", "_enable", &RawChannel::enable},
      {"in", "_input", &RawChannel::volts},
      {"curr", "_input", &RawChannel::amperes},
      {"curr", "_max", &RawChannel::warning},
      {"curr", "_crit", &RawChannel::critical},
      {"shunt", "_resistor", &RawChannel::shunt},
  }};
  static constexpr std::array<Leaf, 6> kIioLeaves{{
      {"rail_name_", "", &RawChannel::label},
      {"in_voltage", "_input", &RawChannel::volts},
      {"in_current", "_input", &RawChannel::amperes},
      {"in_power", "_input", &RawChannel::watts},
      {"warn_current_limit_", "", &RawChannel::warning},
      {"crit_current_limit_", "", &RawChannel::critical},
  }};
  const auto find = [&](const auto& leaves, std::size_t first, std::size_t most) -> Record* {
    for (const Leaf& known : leaves) {
      const auto channel = channel_in(leaf, known.before, known.after, first);
      if (channel && *channel < most) return &(chip.channels[*channel].*known.record);
    }
    return nullptr;
  };
  if (chip.kind == ChipKind::kOldDriver) return find(kIioLeaves, 0, kChannels);
  if (chip.kind == ChipKind::kIna3221) return find(kHwmonLeaves, 1, kChannels);
  if (leaf == "power1_input") return &chip.channels[0].watts;
  if (leaf == "power1_label" || leaf == "label") return &chip.channels[0].label;
  return find(kHwmonLeaves, 1, 1);
}

std::string_view reason_of_power(const FileText& file) {
  if (file.ok()) return kMalformed;
  if (file.error == EAGAIN) return "powered_off";
  return file.error == ENODATA ? kDisabled : reason_of_denied(file.error);
}

class PowerFiles {
 public:
  PowerFiles(const Snapshot& snapshot, Power& out) : snapshot_(snapshot), out_(out) {}

  Result<void> run() {
    // A chip's name decides what its files are, and comes before them.
    for (std::size_t i = 0; i < snapshot_.size(); ++i) take(static_cast<Record>(i));
    std::sort(chips_.begin(), chips_.end(), [](const RawChip& a, const RawChip& b) {
      const bool is_old_a = a.kind == ChipKind::kOldDriver;
      const bool is_old_b = b.kind == ChipKind::kOldDriver;
      return is_old_a != is_old_b ? is_old_b : a.number < b.number;
    });
    for (const RawChip& chip : chips_) {
      for (std::size_t i = 0; i < kChannels; ++i) {
        if (chip.channels[i].is_there()) finish_rail(chip, i);
      }
    }
    if (beyond_bound_ > 0) out_.absent.add(kBeyondBound, beyond_bound_);
    if (!out_.rails.empty() || not_connected_ > 0) return {};
    if (bad_ != kNoRecord) {
      return tl::unexpected(error_of(file(bad_), "expected the name of a rail, "));
    }
    if (list_error_ != kNoRecord) return tl::unexpected(file(list_error_).as_error());
    return fail(Errc::kAbsent, "no chip that measures power (INA3221 or INA2xx) on this machine");
  }

 private:
  FileText file(Record record) const { return snapshot_[static_cast<std::size_t>(record)]; }

  void take(Record record) {
    const FileText file = this->file(record);
    if (is_missing(file)) return;
    const std::size_t slash = file.path.rfind('/');
    if (slash == std::string_view::npos) return;
    const std::string_view folder = file.path.substr(0, slash);
    const std::string_view leaf = file.path.substr(slash + 1);
    const std::string_view under = folder.substr(0, folder.rfind('/'));
    const bool is_hwmon = under == kHwmon;
    const bool is_iio = folder.size() > kIio.size() && folder[kIio.size()] == '/' &&
                        folder.substr(0, kIio.size()) == kIio && folder != under && under != kIio;
    if (!is_hwmon && !is_iio) {
      const bool is_list =
          file.path.substr(0, kHwmon.size()) == kHwmon || file.path.substr(0, kIio.size()) == kIio;
      if (is_list && !file.ok() && list_error_ == kNoRecord) list_error_ = record;
      return;
    }
    if (is_hwmon && leaf == "name") {
      take_hwmon(record, folder);
      return;
    }
    RawChip* chip = find(folder);
    if (chip == nullptr && is_iio) chip = add_iio(folder);
    if (chip == nullptr) return;
    if (leaf == "in7_label" && chip->kind == ChipKind::kIna3221) out_.absent.add("sum_not_a_rail");
    if (Record* const into = record_of(*chip, leaf); into != nullptr && *into == kNoRecord) {
      *into = record;
    }
  }

  RawChip* find(std::string_view folder) {
    for (RawChip& chip : chips_) {
      if (chip.folder == folder) return &chip;
    }
    return nullptr;
  }

  RawChip* add(std::string_view folder, ChipKind kind, std::uint32_t number) {
    if (find(folder) != nullptr) return nullptr;
    if (chips_.full()) {
      ++beyond_bound_;
      return nullptr;
    }
    RawChip& chip = chips_.add();
    chip = {folder, kind, number, {}, {}};
    return &chip;
  }

  void take_hwmon(Record record, std::string_view folder) {
    const FileText file = this->file(record);
    const auto number = number_after(folder.substr(kHwmon.size() + 1), "hwmon");
    const std::string_view name = one_value(file.text).value_or("");
    if (!number || !(is_ina3221(name) || is_other_monitor(name))) return;
    RawChip* const chip =
        add(folder, is_ina3221(name) ? ChipKind::kIna3221 : ChipKind::kOther, *number);
    if (chip != nullptr) chip->name = name;
  }

  RawChip* add_iio(std::string_view folder) {
    const auto number = number_after(folder.substr(folder.rfind('/') + 1), "iio:device");
    return number ? add(folder, ChipKind::kOldDriver, *number) : nullptr;
  }

  void bad(Record record) { out_.absent.add(reason_of_power(file(record))); }

  // The name of a rail; empty when it is omitted, which is counted then.
  std::string_view name_of(const RawChip& chip, const RawChannel& raw, std::size_t channel) {
    static constexpr std::array<std::string_view, kChannels> kUnnamed{"channel 1", "channel 2",
                                                                      "channel 3"};
    // Nobody named it in the device tree.
    if (raw.label == kNoRecord)
      return chip.kind == ChipKind::kOther ? chip.name : kUnnamed[channel];
    const FileText file = this->file(raw.label);
    const auto name = file.ok() ? one_value(file.text) : std::nullopt;
    if (!name || !is_name(*name)) {
      bad(raw.label);
      if (bad_ == kNoRecord) bad_ = raw.label;
      return {};
    }
    if (is_not_connected(*name) || *name == "sum of shunt voltages") {
      out_.absent.add(is_not_connected(*name) ? kNotConnected : std::string_view("sum_not_a_rail"));
      ++not_connected_;
      return {};
    }
    return *name;
  }

  void finish_rail(const RawChip& chip, std::size_t channel) {
    const RawChannel& raw = chip.channels[channel];
    const std::string_view name = name_of(chip, raw, channel);
    if (name.empty()) return;
    if (out_.rails.size() == kMaxRails) {
      ++beyond_bound_;
      return;
    }
    Power::Rail& rail = out_.rails.emplace_back();
    rail.name = name;
    const std::uint32_t family = chip.kind == ChipKind::kOldDriver ? 1U << 24 : 0;
    rail.number = family + chip.number * 4 + static_cast<std::uint32_t>(channel);
    if (raw.enable != kNoRecord && one_u64(file(raw.enable).text) == 0U) {
      out_.absent.add(kDisabled);
      return;
    }
    take(raw.volts, 1e-3, rail.volts);
    take(raw.amperes, 1e-3, rail.amperes);
    if (raw.watts != kNoRecord) {
      take(raw.watts, chip.kind == ChipKind::kOldDriver ? 1e-3 : 1e-6, rail.watts);
    } else if (rail.volts && rail.amperes) {
      rail.watts = *rail.volts * *rail.amperes;
    }
    if (rail.watts && *rail.watts < 0) {
      rail.watts.reset();
      out_.absent.add("negative_power");
    }
    const auto take_limit = [&](Record record, std::optional<double>& into) {
      if (chip.kind == ChipKind::kOldDriver) {
        take_old_limit(record, into);
      } else {
        this->take_limit(record, raw.shunt, into);
      }
    };
    take_limit(raw.warning, rail.warning_amperes);
    take_limit(raw.critical, rail.critical_amperes);
  }

  void take(Record record, double unit, std::optional<double>& into, std::string_view behind = {}) {
    if (record == kNoRecord) return;
    // A million amperes, volts or watts are none.
    constexpr double kMost = 1e6;
    const FileText file = this->file(record);
    auto text = file.ok() ? one_value(file.text) : std::nullopt;
    if (text && !behind.empty() && text->size() > behind.size() &&
        text->substr(text->size() - behind.size()) == behind) {
      text->remove_suffix(behind.size());
    }
    const auto value = text ? parse_i64(*text) : std::nullopt;
    if (!value) return bad(record);
    const double number = static_cast<double>(*value) * unit;
    if (std::abs(number) < kMost) {
      into = number;
    } else {
      out_.absent.add(kImpossible);
    }
  }

  void take_limit(Record record, Record shunt, std::optional<double>& into) {
    take(record, 1e-3, into);
    const auto ohms = shunt == kNoRecord ? std::nullopt : one_u64(file(shunt).text);
    if (!into || !ohms || *ohms == 0) return;
    const double most = kMostMicrovolts / static_cast<double>(*ohms);
    if (std::abs(*into - most) > 0.0011) return;
    into.reset();
    out_.absent.add("limit_unset");
  }

  // "5000 ma". What the shunt is nobody says here: a whole number of milliohms.
  void take_old_limit(Record record, std::optional<double>& into) {
    take(record, 1e-3, into, " ma");
    if (!into) return;
    for (int milliohms = 1; milliohms <= 100; ++milliohms) {
      const double most = kMostMicrovolts / milliohms;  // in mA
      if (std::abs(*into * 1000 - most) > 0.999) continue;
      into.reset();
      out_.absent.add("limit_unset");
      return;
    }
  }

  const Snapshot& snapshot_;
  Power& out_;
  BoundedList<RawChip, kMaxChips> chips_;
  Record list_error_ = kNoRecord;
  Record bad_ = kNoRecord;
  std::size_t not_connected_ = 0;
  std::uint64_t beyond_bound_ = 0;
};

}  // namespace

Result<void> parse_power(const Snapshot& snapshot, Power& out) {
  out = {};
  return PowerFiles(snapshot, out).run();
}

}  // namespace jetmem
