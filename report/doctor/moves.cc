// SPDX-License-Identifier: Apache-2.0
#include "report/doctor/moves.h"

#include <algorithm>

namespace jetmem::doctor {
namespace {

// Around a move: enough to see what was before it, and that it is over.
constexpr double kAround = 0.1;
constexpr double kLeastAround = 600;
constexpr double kMostAround = 3600;
constexpr double kTail = 300;
// A move that ended this many steps before the last value is over.
constexpr double kStepsToEnd = 2.5;
constexpr double kRawStep = 10;
constexpr double kSilent = 120;
constexpr std::size_t kMostFine = 4000;

bool is_same(const Move& a, const Move& b) {
  return a.from == b.from && a.to == b.to && a.before == b.before && a.after == b.after;
}

Values between(const Values& values, double from, double to) {
  Values out;
  for (const Value& each : values) {
    if (each.time >= from && each.time <= to) out.push_back(each);
  }
  return out;
}

double mean_of(const Values& values, double from, double until) {
  double sum = 0;
  double count = 0;
  for (const Value& each : values) {
    if (each.time < from || each.time >= until) continue;
    sum += each.value;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

double around(const Move& move) {
  return std::clamp(kAround * (move.to - move.from), kLeastAround, kMostAround) + 2 * move.step;
}

}  // namespace

std::optional<Move> move_of(const Values& values, bool rises, double least) {
  if (values.size() < 3) return std::nullopt;
  // Upwards, whichever way it goes. A roll-up has extremes of its own.
  const auto high = [&](std::size_t i) { return rises ? values[i].max : -values[i].min; };
  const auto low = [&](std::size_t i) { return rises ? values[i].min : -values[i].max; };
  // A roll-up's last value may reach beyond the moment that was asked for, and so be half of what
  // came after: of the last three, the one furthest on counts.
  std::size_t last = values.size() - 1;
  for (std::size_t i = values.size() - 3; i < values.size(); ++i) {
    if (high(i) > high(last)) last = i;
  }
  std::size_t lowest = 0;
  for (std::size_t i = 0; i <= last; ++i) {
    if (low(i) <= low(lowest)) lowest = i;
  }
  // Where it was last below a tenth and below nine tenths of the way: from these two a straight
  // line leads back to the beginning and on to the end, and a step is where it is. A value that
  // merely wavers before it grows, or once it has grown, moves neither.
  const auto last_below = [&](double level, std::size_t end) {
    std::size_t found = lowest;
    for (std::size_t i = lowest; i < end; ++i) {
      if (low(i) <= level) found = i;
    }
    return found;
  };
  const double reached = high(last) - low(lowest);
  if (reached < least || reached <= 0) return std::nullopt;
  // The furthest since: what it did afterwards is no part of the move.
  std::size_t furthest = last_below(low(lowest) + 0.1 * reached, last);
  for (std::size_t i = furthest; i < values.size(); ++i) {
    if (high(i) > high(furthest)) furthest = i;
  }
  const double bottom = low(lowest);
  const double change = high(furthest) - bottom;
  const std::size_t tenth = last_below(bottom + 0.1 * change, furthest);
  const std::size_t almost = last_below(bottom + 0.9 * change, furthest);
  const double rest = (values[almost].time - values[tenth].time) / 8;
  const double end = values.back().time;
  Move out;
  out.from = std::max(values.front().time, values[tenth].time - rest);
  out.to = std::min(end, std::max(values[std::min(almost + 1, values.size() - 1)].time,
                                  values[almost].time + rest));
  out.before = rises ? bottom : -bottom;
  out.after = rises ? high(furthest) : -high(furthest);
  out.step = values[tenth].step;
  const double pause = kStepsToEnd * std::max(out.step, kRawStep);
  out.is_ongoing = end - out.to <= pause;
  // The end is where a straight line leads: what wavers may have gone on since, about as fast.
  const double since = end - out.to;
  if (!out.is_ongoing && end - values[furthest].time <= 2 * pause) {
    const double half =
        mean_of(values, end - since / 2, end + 1) - mean_of(values, out.to, end - since / 2);
    const double expected = (out.after - out.before) / std::max(out.to - out.from, 1.0) * since / 2;
    if (half / expected >= 0.5) {
      out.is_ongoing = true;
      out.to = end;
    }
  }
  return out;
}

std::optional<Move> find_move(Past& past, const MoveQuery& query) {
  const Values rough = past.series(query.key, std::max(query.from, query.earliest), query.to);
  auto move = move_of(rough, query.rises, query.least);
  if (!move) return std::nullopt;
  const double begin = std::max(query.earliest, move->from - 1.2 * around(*move) - 60);
  const double end = std::min(query.to, move->to + 2 * kTail + 2 * move->step);
  const Values fine = past.series(query.key, begin, end, kMostFine);
  // Until it finds itself: what was seen first depends on the window.
  for (int i = 0; i < 6; ++i) {
    const double until = std::min(query.to, move->to + kTail + 2 * move->step);
    auto again = move_of(between(fine, move->from - around(*move), until), query.rises, 0);
    if (!again || again->change() == 0) break;
    // Values that no longer come do not say that it goes on.
    again->is_ongoing = again->is_ongoing && until >= query.to &&
                        query.to - fine.back().time <= kSilent + again->step;
    const bool same = is_same(*again, *move);
    move = again;
    if (same) break;
  }
  return move;
}

double coarser(double step, const std::optional<Move>& move) {
  return move ? std::max(step, move->step) : step;
}

}  // namespace jetmem::doctor
