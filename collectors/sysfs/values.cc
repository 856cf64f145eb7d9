// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/values.h"

#include <algorithm>
#include <string>

#include "base/text/text.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {

std::optional<Error> Values::error(std::string_view expected) const {
  if (first_error_ == kNoRecord) return std::nullopt;
  return error_of(file(first_error_), expected);
}

void Values::missing(std::string_view reason, Record record) {
  absent_.add(reason);
  const auto denied = [&](Record r) { return is_denied(file(r).error); };
  if (first_error_ == kNoRecord || (denied(record) && !denied(first_error_))) first_error_ = record;
}

void Values::missing(Record record) { missing(reason_(file(record)), record); }

std::optional<std::uint64_t> Values::number(Record record, std::uint64_t least, std::uint64_t most,
                                            std::string_view reason) {
  if (record == kNoRecord) return std::nullopt;
  const FileText file = this->file(record);
  const auto value = file.ok() ? one_u64(file.text) : std::nullopt;
  if (value && *value >= least && *value <= most) {
    found();
    return value;
  }
  // What is there, if out of bounds, is no failure to read.
  value ? absent_.add(reason) : missing(record);
  return std::nullopt;
}

std::optional<std::uint64_t> Values::hertz(Record record, std::uint64_t unit, Zero zero) {
  const std::uint64_t least = zero == Zero::kIsNoLimit ? 1 : 0;
  const auto value = number(record, least, kNoClock / unit, "placeholder");
  return value ? std::optional(*value * unit) : std::nullopt;
}

std::optional<std::uint64_t> Values::highest(Record record) {
  if (record == kNoRecord) return std::nullopt;
  const FileText file = this->file(record);
  auto line = file.ok() ? one_value(file.text) : std::nullopt;
  std::uint64_t highest = 0;
  while (line && !line->empty()) {
    const auto value = take_u64(*line);
    const bool ends = line->empty() || is_blank(line->front());
    if (!value || *value > kNoClock || !ends) {
      line.reset();
    } else {
      highest = std::max(highest, *value);
    }
  }
  if (!line) {
    missing(record);
    return std::nullopt;
  }
  if (highest == 0) return std::nullopt;
  found();
  return highest;
}

std::string_view Values::name(Record record) {
  if (record == kNoRecord) return {};
  const FileText file = this->file(record);
  const auto name = file.ok() ? one_name(file.text) : std::nullopt;
  if (!name) missing(record);
  return name.value_or(std::string_view());
}

std::optional<double> Values::ratio(Record record) {
  constexpr std::uint64_t kFull = 1000;
  const auto value = number(record, 0, kFull, "inconsistent");
  if (!value) return std::nullopt;
  return static_cast<double>(*value) / static_cast<double>(kFull);
}

}  // namespace jetmem
