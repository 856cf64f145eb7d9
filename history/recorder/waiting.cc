// SPDX-License-Identifier: Apache-2.0
#include "history/recorder/waiting.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace jetmem {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint32_t kNoColumn = UINT32_MAX;
// A block that has no room for new series, since many of its own are gone, ends early, but not so
// early that it is hardly worth writing.
constexpr std::size_t kEarlyEnd = 30;

}  // namespace

Waiting::Waiting(Selection selection, std::size_t keep)
    : selection_(std::move(selection)), keep_(keep) {
  mapped_.reserve(WaitingBlock::kMaxSeries);
  blocks_.reserve(kMaxBlocks + 1);
  begin_block();
}

std::size_t Waiting::begin_block(bool may_drop) {
  std::size_t lost = 0;
  index_.clear();
  is_indexed_ = false;
  is_mapped_ = false;
  filling_ = std::make_shared<WaitingBlock>();
  Filling gone;  // freed without the mutex
  const std::lock_guard lock(mutex_);
  if (keep_ > 0) {
    if (blocks_.size() >= keep_) {
      gone = std::move(blocks_.front());
      blocks_.erase(blocks_.begin());
    }
  } else if (may_drop && (steps_of_all() >= kMaxSteps || blocks_.size() >= kMaxBlocks)) {
    const std::size_t oldest = in_hand_ ? 1 : 0;
    gone = std::move(blocks_[oldest]);
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(oldest));
    lost = gone->steps();
  }
  blocks_.push_back(filling_);
  return lost;
}

bool Waiting::is_selected(const SampleTable::Slot& slot) {
  if (slot.is_companion || slot.is_duplicate) return false;
  const auto [found, is_new] = verdicts_.try_emplace(slot.family, Selection::Verdict::kNone);
  if (is_new) found->second = selection_.verdict(slot.family);
  if (found->second == Selection::Verdict::kByLabels) return selection_.wants(slot);
  return found->second == Selection::Verdict::kAll;
}

// The column of this series in the filling block, made where it is new.
std::uint32_t Waiting::column_of(const SampleTable::Slot& slot) {
  const std::size_t count = filling_->series_.load(std::memory_order_relaxed);
  // Mostly the series stand as they stood.
  if (next_column_ < count && filling_->columns_[next_column_]->key == slot.key) {
    return static_cast<std::uint32_t>(next_column_++);
  }
  // Nothing can stand elsewhere in a block that is mapped for the first time.
  if (is_mapped_ && !is_indexed_) {
    for (std::size_t i = 0; i < count; ++i) {
      index_.emplace(filling_->columns_[i]->key, static_cast<std::uint32_t>(i));
    }
    is_indexed_ = true;
  }
  if (is_indexed_) {
    if (const auto found = index_.find(slot.key); found != index_.end()) {
      next_column_ = found->second + std::size_t{1};
      return found->second;
    }
  }
  if (count == WaitingBlock::kMaxSeries) return kNoColumn;
  auto& column = filling_->columns_[count];
  column = std::make_unique<WaitingBlock::Column>();
  column->key = slot.key;
  column->is_counter = slot.descriptor->type != MetricType::kGauge;
  column->values.fill(kNone);
  if (is_indexed_) index_.emplace(column->key, static_cast<std::uint32_t>(count));
  filling_->series_.store(count + 1, std::memory_order_release);
  next_column_ = count + 1;
  return static_cast<std::uint32_t>(count);
}

void Waiting::map(const SampleTable& table) {
  mapped_.clear();
  without_room_ = 0;
  next_column_ = 0;
  const auto& sections = table.sections();
  for (std::size_t s = 0; s < sections.size(); ++s) {
    const auto& slots = sections[s].slots;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (!is_selected(slots[i])) continue;
      const std::uint32_t column = column_of(slots[i]);
      if (column == kNoColumn) {
        ++without_room_;
        continue;
      }
      mapped_.push_back({static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(i), column});
    }
  }
  shape_ = table.shape();
  is_mapped_ = true;
}

std::size_t Waiting::take(const SampleTable& table, Nanoseconds now) {
  std::size_t lost = 0;
  if (filling_->steps() == WaitingBlock::kMaxSteps) lost += begin_block();
  if (!is_mapped_ || shape_ != table.shape()) map(table);
  if (without_room_ > 0 && mapped_.size() < filling_->series() && filling_->steps() >= kEarlyEnd) {
    lost += begin_block();
    map(table);
  }
  const std::size_t step = filling_->steps_.load(std::memory_order_relaxed);
  for (const Mapped& each : mapped_) {
    filling_->columns_[each.column]->values[step] =
        table.sections()[each.section].values[each.slot];
  }
  filling_->at_[step] = now;
  filling_->steps_.store(step + 1, std::memory_order_release);
  return lost;
}

void Waiting::seal() {
  if (filling_->steps() > 0) begin_block(false);
}

void Waiting::reopen() {
  const Filling from = filling_;  // freed without the mutex
  const std::lock_guard lock(mutex_);
  if (keep_ > 0 || blocks_.size() < 2 || (in_hand_ && blocks_.size() == 2)) return;
  const Filling into = blocks_[blocks_.size() - 2];
  const std::size_t before = into->steps_.load(std::memory_order_relaxed);
  const std::size_t more = from->steps_.load(std::memory_order_relaxed);
  if (before + more > WaitingBlock::kMaxSteps) return;
  std::size_t count = into->series_.load(std::memory_order_relaxed);
  std::unordered_map<std::string_view, std::uint32_t> index;
  for (std::size_t i = 0; i < count; ++i) {
    index.emplace(into->columns_[i]->key, static_cast<std::uint32_t>(i));
  }
  const std::size_t series = from->series_.load(std::memory_order_relaxed);
  std::size_t added = 0;
  for (std::size_t i = 0; i < series; ++i) added += index.count(from->columns_[i]->key) == 0;
  if (count + added > WaitingBlock::kMaxSeries) return;
  for (std::size_t i = 0; i < series; ++i) {
    const WaitingBlock::Column& source = *from->columns_[i];
    const auto found = index.find(source.key);
    std::size_t at = count;
    if (found != index.end()) {
      at = found->second;
    } else {
      auto& column = into->columns_[count];
      column = std::make_unique<WaitingBlock::Column>();
      column->key = source.key;
      column->is_counter = source.is_counter;
      column->values.fill(kNone);
      index.emplace(column->key, static_cast<std::uint32_t>(count++));
    }
    std::copy_n(source.values.begin(), more,
                into->columns_[at]->values.begin() + static_cast<std::ptrdiff_t>(before));
  }
  std::copy_n(from->at_.begin(), more, into->at_.begin() + static_cast<std::ptrdiff_t>(before));
  into->series_.store(count, std::memory_order_release);
  into->steps_.store(before + more, std::memory_order_release);
  blocks_.pop_back();
  filling_ = into;
  index_ = std::move(index);
  is_indexed_ = true;
  is_mapped_ = false;
}

bool Waiting::is_full() const { return filling_->steps() == WaitingBlock::kMaxSteps; }

Nanoseconds Waiting::waited(Nanoseconds now) const {
  return filling_->steps() > 0 ? now - filling_->at(0) : Nanoseconds(0);
}

std::size_t Waiting::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_of_all();
}

std::size_t Waiting::steps_of_all() const {
  std::size_t all = 0;
  for (const Filling& block : blocks_) all += block->steps();
  return all;
}

bool Waiting::has_sealed() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size() > 1;
}

bool Waiting::has_several_sealed() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size() > 2;
}

Waiting::Block Waiting::oldest_sealed() {
  const std::lock_guard lock(mutex_);
  if (blocks_.size() < 2) return nullptr;
  in_hand_ = true;
  return blocks_.front();
}

void Waiting::release_steps(const Block& block, bool was_written) {
  const std::lock_guard lock(mutex_);
  in_hand_ = false;
  if (was_written && !blocks_.empty() && blocks_.front() == block) blocks_.erase(blocks_.begin());
}

std::vector<Waiting::Block> Waiting::snapshot() const {
  std::vector<Block> out;
  out.reserve(kMaxBlocks + 1);
  const std::lock_guard lock(mutex_);
  out.assign(blocks_.begin(), blocks_.end());
  return out;
}

}  // namespace jetmem
