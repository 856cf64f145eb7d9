// SPDX-License-Identifier: Apache-2.0
// The past of the series that rules mention, in columns: one per evaluation step, as a
// scrape then would have seen the series. Eight bytes a sample.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rules/engine/functions.h"

namespace jetmem {

class SeriesStore {
 public:
  struct Ring {
    std::vector<double> values;  // of column c at c % size
    std::uint64_t since = 0;     // the column that was open when it was made
  };
  // A value is taken for the present one for so long, unless it was marked stale (Prometheus'
  // lookback).
  static constexpr std::int64_t kLookback = 300'000;

  // Steps come every `interval`; windows reach at most `reach` back.
  SeriesStore(std::chrono::milliseconds interval, std::chrono::milliseconds reach);

  // Of a series whose past is wanted for `window`.
  Ring ring(std::chrono::milliseconds window) const;
  // What its samples take.
  std::size_t bytes_for(std::chrono::milliseconds window) const;

  // Opens the column of this moment, milliseconds, later than the one before; each ring is to be
  // given a value, a gap or its end in it. A `provisional` one is replaced by the next.
  void begin(std::int64_t at, bool provisional);
  void set(Ring& ring, double value) const {
    ring.values[(columns_ - 1) % ring.values.size()] = value;
  }
  void set_gap(Ring& ring) const { set(ring, gap()); }
  // The series ends here.
  void set_stale(Ring& ring) const;

  // What Prometheus' instant selector would find in the open column's moment.
  std::optional<double> now(const Ring& ring) const;
  // Its range selector: the samples of the last `window`, both ends included.
  void collect(const Ring& ring, std::chrono::milliseconds window,
               std::vector<TimedValue>& out) const;

  std::int64_t time() const { return times_[(columns_ - 1) % times_.size()]; }
  // Beside the rings.
  std::size_t bytes() const { return times_.size() * sizeof(std::int64_t); }

  // For keeping it over a restart: the columns, oldest first, in which the series may have
  // something, and what it has there: a value, or a NaN that is_gap or is_stale knows.
  std::size_t columns_of(const Ring& ring) const;
  // Without a provisional one, which the next step would have replaced.
  std::size_t saved_columns_of(const Ring& ring) const;
  TimedValue column(const Ring& ring, std::size_t i) const;
  static double gap();
  static bool is_gap(double value);
  static bool is_stale(double value);

  // Which of these times (rising) to begin() columns for, so that every window finds all of its
  // past although they may be closer together than the steps: the newest, and then one for each
  // step. All of them where they fit.
  std::vector<bool> on_grid(std::span<const std::int64_t> times) const;

 private:
  std::size_t capacity_for(std::chrono::milliseconds window) const;

  const std::chrono::milliseconds interval_;
  std::vector<std::int64_t> times_;
  std::uint64_t columns_ = 0;  // opened so far; the open one is the last
  bool provisional_ = false;
};

}  // namespace jetmem
