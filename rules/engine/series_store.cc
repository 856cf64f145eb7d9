// SPDX-License-Identifier: Apache-2.0
#include "rules/engine/series_store.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace jetmem {
namespace {

// NaNs that no measurement gives.
constexpr std::uint64_t kGapBits = 0x7ff8'0000'6a6d'0001;
constexpr std::uint64_t kStaleBits = 0x7ff8'0000'6a6d'0002;

double from_bits(std::uint64_t bits) {
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
std::uint64_t bits_of(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

double SeriesStore::gap() { return from_bits(kGapBits); }
bool SeriesStore::is_gap(double value) { return bits_of(value) == kGapBits; }
bool SeriesStore::is_stale(double value) { return bits_of(value) == kStaleBits; }

SeriesStore::SeriesStore(std::chrono::milliseconds interval, std::chrono::milliseconds reach)
    : interval_(interval), times_(capacity_for(reach)) {}

std::size_t SeriesStore::capacity_for(std::chrono::milliseconds window) const {
  const std::int64_t reach = std::max<std::int64_t>(window.count(), kLookback);
  // Both ends, and a step that came early because the one before it came late.
  return static_cast<std::size_t>(reach / interval_.count()) + 3;
}

std::size_t SeriesStore::bytes_for(std::chrono::milliseconds window) const {
  return std::min(capacity_for(window), times_.size()) * sizeof(double);
}

SeriesStore::Ring SeriesStore::ring(std::chrono::milliseconds window) const {
  return {std::vector<double>(std::min(capacity_for(window), times_.size()), gap()),
          columns_ == 0 ? 0 : columns_ - 1};
}

void SeriesStore::begin(std::int64_t at, bool provisional) {
  if (!provisional_ || columns_ == 0) ++columns_;
  provisional_ = provisional;
  times_[(columns_ - 1) % times_.size()] = at;
}

void SeriesStore::set_stale(Ring& ring) const { set(ring, from_bits(kStaleBits)); }

std::size_t SeriesStore::columns_of(const Ring& ring) const {
  const std::uint64_t since = std::min(ring.since, columns_);
  return static_cast<std::size_t>(std::min<std::uint64_t>(columns_ - since, ring.values.size()));
}

std::size_t SeriesStore::saved_columns_of(const Ring& ring) const {
  const std::size_t columns = columns_of(ring);
  return provisional_ && columns > 0 ? columns - 1 : columns;
}

TimedValue SeriesStore::column(const Ring& ring, std::size_t i) const {
  const std::uint64_t column = columns_ - columns_of(ring) + i;
  return {times_[column % times_.size()], ring.values[column % ring.values.size()]};
}

std::vector<bool> SeriesStore::on_grid(std::span<const std::int64_t> times) const {
  std::vector<bool> keep(times.size(), true);
  bool all_fit = true;
  for (std::size_t newer = 0; newer < times.size() && all_fit; ++newer) {
    const std::int64_t age = times.back() - times[times.size() - 1 - newer];
    // The next step needs a column, too.
    all_fit = newer + 2 <= capacity_for(std::chrono::milliseconds(age));
  }
  if (all_fit) return keep;
  std::int64_t last = -1;
  for (std::size_t i = times.size(); i-- > 0;) {
    const std::int64_t step = (times.back() - times[i]) / interval_.count();
    keep[i] = step != last;
    last = step;
  }
  return keep;
}

std::optional<double> SeriesStore::now(const Ring& ring) const {
  const std::int64_t oldest = time() - kLookback;
  for (std::size_t i = columns_of(ring); i-- > 0;) {
    const TimedValue sample = column(ring, i);
    if (sample.at < oldest) break;
    if (is_stale(sample.value)) break;
    if (!is_gap(sample.value)) return sample.value;
  }
  return std::nullopt;
}

void SeriesStore::collect(const Ring& ring, std::chrono::milliseconds window,
                          std::vector<TimedValue>& out) const {
  const std::int64_t oldest = time() - window.count();
  // Back from the newest, as another rule may look back further than this one, and around both
  // rings without a division for each sample.
  std::size_t first = std::min(columns_of(ring), capacity_for(window));
  out.resize(first);
  std::size_t t = columns_ % times_.size();
  std::size_t v = columns_ % ring.values.size();
  for (std::size_t left = first; left > 0; --left) {
    t = (t == 0 ? times_.size() : t) - 1;
    v = (v == 0 ? ring.values.size() : v) - 1;
    if (times_[t] < oldest) break;
    const std::uint64_t bits = bits_of(ring.values[v]);
    if (bits != kGapBits && bits != kStaleBits) out[--first] = {times_[t], ring.values[v]};
  }
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace jetmem
