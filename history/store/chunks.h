// SPDX-License-Identifier: Apache-2.0
// Chunks as they are stored: which there are, when their steps were, whose values they have.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "history/history.h"

namespace jetmem {

struct ChunkHead {
  std::int64_t number = 0;
  Resolution resolution = Resolution::kRaw;
  std::int64_t boot = 0;
  Nanoseconds first{0};  // boot clock; of a roll-up, the begin of its steps
  Nanoseconds last{0};
  std::size_t steps = 0;
};

std::string encode_times(const std::vector<Nanoseconds>& times);
std::string encode_members(const std::vector<std::int64_t>& ascending);

// Of one resolution or all, in the order of boots and their clocks. Errors: kMalformed.
Result<std::vector<ChunkHead>> list_chunks(sqlite3* db, std::optional<Resolution> resolution);
Result<std::vector<Nanoseconds>> chunk_times(sqlite3* db, const ChunkHead& chunk);
// Ascending numbers of series.
Result<std::vector<std::int64_t>> chunk_members(sqlite3* db, const ChunkHead& chunk);
// The stored column; empty: the chunk has none of this series.
Result<std::string> chunk_column(sqlite3* db, const ChunkHead& chunk, std::int64_t series);

// The value or roll-up of a step; count 0: there was none.
struct StepValue {
  std::uint32_t count = 0;
  double min = 0;
  double average = 0;
  double max = 0;
};
Result<std::vector<StepValue>> decode_steps(std::string_view column, const ChunkHead& chunk);

}  // namespace jetmem
