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
  shape_.reset();
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
  if (const auto found = index_.find(slot.key); found != index_.end()) return found->second;
  const std::size_t count = filling_->series_.load(std::memory_order_relaxed);
  if (count == WaitingBlock::kMaxSeries) return kNoColumn;
  auto& column = filling_->columns_[count];
  column = std::make_unique<WaitingBlock::Column>();
  column->key = slot.key;
  column->is_counter = slot.descriptor->type != MetricType::kGauge;
  column->values.fill(kNone);
  index_.emplace(column->key, static_cast<std::uint32_t>(count));
  filling_->series_.store(count + 1, std::memory_order_release);
  return static_cast<std::uint32_t>(count);
}

void Waiting::map(const SampleTable& table) {
  mapped_.clear();
  without_room_ = 0;
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
}

std::size_t Waiting::take(const SampleTable& table, Nanoseconds now) {
  std::size_t lost = 0;
  if (filling_->steps() == WaitingBlock::kMaxSteps) lost += begin_block();
  if (shape_ != table.shape()) map(table);
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
