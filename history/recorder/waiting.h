// SPDX-License-Identifier: Apache-2.0
// The steps that wait in memory to be written, in blocks of half an hour. One thread (the loop)
// adds; others look at what is there without ever holding it up: a block's figures are published by
// their number, and what is published is not changed.
//
// A block's memory grows with the series that there are: within a block, a step of a table whose
// shape stands allocates nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "history/query/selection.h"
#include "metrics/sample.h"

namespace jetmem {

// Steps of some series, one after the other.
class WaitingBlock {
 public:
  static constexpr std::size_t kMaxSteps = 180;
  static constexpr std::size_t kMaxSeries = 512;

  struct Column {
    std::string key;
    bool is_counter = false;
    std::array<double, kMaxSteps> values;  // NaN: no value at that step
  };

  // For any thread: of these many nothing is changed any more.
  std::size_t steps() const { return steps_.load(std::memory_order_acquire); }
  // To be asked after steps(): series that appeared later have no value in those steps.
  std::size_t series() const { return series_.load(std::memory_order_acquire); }
  Nanoseconds at(std::size_t step) const { return at_[step]; }
  const Column& column(std::size_t i) const { return *columns_[i]; }

 private:
  friend class Waiting;
  std::array<Nanoseconds, kMaxSteps> at_{};
  std::array<std::unique_ptr<Column>, kMaxSeries> columns_;
  std::atomic<std::size_t> steps_{0};
  std::atomic<std::size_t> series_{0};
};

class Waiting {
 public:
  using Block = std::shared_ptr<const WaitingBlock>;
  // What waits while it cannot be written; then the oldest block goes. Short blocks take as much
  // memory as full ones, so their number is bounded, too.
  static constexpr std::size_t kMaxSteps = 3 * WaitingBlock::kMaxSteps;
  static constexpr std::size_t kMaxBlocks = 5;

  // `keep`: blocks that stay when nothing is ever written; 0: all of them wait to be.
  Waiting(Selection selection, std::size_t keep);

  // By the loop. What the table has now. Steps that were lost for it, since memory was full.
  std::size_t take(const SampleTable& table, Nanoseconds now);
  // Ends the block that is being filled, so that it can be written; nothing where it is empty.
  // Drops none, so that it may be one more than kMaxBlocks for once.
  void seal();
  bool is_full() const;
  // How old the first step is of the block that is being filled.
  Nanoseconds waited(Nanoseconds now) const;
  // Of the last step.
  std::size_t series() const { return mapped_.size(); }
  std::size_t without_room() const { return without_room_; }
  std::size_t steps() const;

  // By the writer. The oldest one that was sealed, null where there is none. It is kept until it
  // was written: release_steps() says whether it was.
  Block oldest_sealed();
  void release_steps(const Block& block, bool was_written);
  bool has_sealed() const;
  bool has_several_sealed() const;

  // By any other: all that waits, the oldest first.
  std::vector<Block> snapshot() const;

 private:
  struct Mapped {
    std::uint32_t section;
    std::uint32_t slot;
    std::uint32_t column;
  };
  using Filling = std::shared_ptr<WaitingBlock>;

  void map(const SampleTable& table);
  std::uint32_t column_of(const SampleTable::Slot& slot);
  bool is_selected(const SampleTable::Slot& slot);
  std::size_t begin_block(bool may_drop = true);
  std::size_t steps_of_all() const;  // with the mutex held

  const Selection selection_;
  const std::size_t keep_;
  std::unordered_map<std::string, Selection::Verdict> verdicts_;  // by family
  std::vector<Mapped> mapped_;
  std::unordered_map<std::string_view, std::uint32_t> index_;  // of the filling block's columns
  std::size_t without_room_ = 0;
  std::optional<std::uint64_t> shape_;  // that is mapped onto the filling block
  Filling filling_;

  mutable std::mutex mutex_;     // held to move pointers, no longer
  std::vector<Filling> blocks_;  // the oldest first, filling_ the last
  bool in_hand_ = false;         // the writer has the first of them
};

}  // namespace jetmem
