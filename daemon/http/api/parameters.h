// SPDX-License-Identifier: Apache-2.0
// The parameters of a request, checked against those that the page knows: an unknown one is an
// error instead of being ignored, so that a typing error does not ask another question.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace jetmem {

// Decoded already; may hold any bytes.
struct Parameter {
  std::string_view name;
  std::string_view value;
};

struct Moment {
  Nanoseconds time{0};
  bool is_relative = false;  // `time` is before now

  Nanoseconds at(Nanoseconds now) const { return is_relative ? now + time : time; }
};

class Parameters {
 public:
  static constexpr std::size_t kMost = 16;
  static constexpr std::size_t kMaxValue = 4096;

  explicit Parameters(std::span<const Parameter> all) : all_(all) {}

  // Errors: one of another name, one twice, too many, one too long.
  Result<void> only(std::span<const std::string_view> names) const;

  // All of them: of two equal ones the same is asked.
  std::string text() const;

  // Null: not given. An empty one counts as given.
  const std::string_view* find(std::string_view name) const;
  // Errors: not a whole number between 1 and `most`.
  Result<std::size_t> count(std::string_view name, std::size_t otherwise, std::size_t most) const;
  Result<std::optional<std::int64_t>> number(std::string_view name) const;
  // Seconds since 1970, or of a negative one: before now.
  Result<std::optional<Moment>> moment(std::string_view name) const;
  Result<std::optional<Nanoseconds>> duration(std::string_view name) const;

 private:
  std::span<const Parameter> all_;
};

// Seconds in decimal, exactly: "-3600", "1790000000.25". No exponent, at most 10 digits before the
// point; digits beyond nanoseconds are dropped.
std::optional<Nanoseconds> parse_seconds(std::string_view text);

}  // namespace jetmem
