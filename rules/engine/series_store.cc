// SPDX-License-Identifier: Apache-2.0
#include "rules/engine/series_store.h"

#include <algorithm>
#include <bit>
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
  std::size_t n = columns_of(ring);
  std::uint64_t first = columns_ - n;
  // The window's first column: another rule may look back further than this one.
  for (std::size_t step = std::bit_floor(n); step > 0; step /= 2) {
    if (step <= n && times_[(first + step - 1) % times_.size()] < oldest) {
      first += step;
      n -= step;
    }
  }
  out.resize(n);
  // Two positions that walk around their rings: no division for each sample. Each sample is
  // written, and the next one over it where it is none.
  std::size_t t = first % times_.size();
  std::size_t v = first % ring.values.size();
  std::size_t found = 0;
  for (std::size_t left = n; left > 0;) {
    const std::size_t run = std::min({left, times_.size() - t, ring.values.size() - v});
    for (std::size_t i = 0; i < run; ++i) {
      const double value = ring.values[v + i];
      out[found] = {times_[t + i], value};
      const std::uint64_t bits = bits_of(value);
      found += static_cast<std::size_t>((bits != kGapBits) & (bits != kStaleBits));
    }
    left -= run;
    t = t + run == times_.size() ? 0 : t + run;
    v = v + run == ring.values.size() ? 0 : v + run;
  }
  out.resize(found);
}

}  // namespace jetmem
