// SPDX-License-Identifier: Apache-2.0
#include "history/recorder/recorder_past.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/text/text.h"
#include "history/merge_points.h"

namespace jetmem {
namespace {

bool is_of_family(std::string_view key, std::string_view family) {
  if (family.empty()) return true;
  if (key.substr(0, family.size()) != family) return false;
  return key.size() == family.size() || key[family.size()] == '{';
}

// The points as minutes or quarters, which begin at whole ones of the boot clock.
std::vector<HistoryPoint> rolled_up(const std::vector<HistoryPoint>& raw, Resolution resolution,
                                    Nanoseconds step) {
  std::vector<HistoryPoint> out;
  for (const HistoryPoint& point : raw) {
    const Nanoseconds begin = point.boot_time - point.boot_time % step;
    if (out.empty() || out.back().boot_time != begin) {
      out.push_back(point);
      out.back().wall -= point.boot_time - begin;
      out.back().boot_time = begin;
      out.back().resolution = resolution;
      continue;
    }
    fold(point, out.back());
  }
  return out;
}

// One that begins when the last of those known does is the rest of it.
void append(std::vector<HistoryPoint>& points, std::vector<HistoryPoint> newer) {
  if (newer.empty()) return;
  auto from = newer.begin();
  if (!points.empty() && points.back().boot == from->boot &&
      points.back().boot_time == from->boot_time) {
    fold(*from++, points.back());
  }
  points.insert(points.end(), from, newer.end());
}

bool is_same(const EventRecord& a, const EventRecord& b) {
  return a.what == b.what && a.kind == b.kind && a.subject == b.subject && a.at == b.at &&
         a.summary == b.summary;
}

}  // namespace

RecorderPast::RecorderPast(Options options, const Waiting& steps, const WaitingEvents& events,
                           std::shared_ptr<const RecorderNow> now)
    : options_(std::move(options)), steps_(steps), events_(events), now_(std::move(now)) {}

HistoryStore* RecorderPast::store() {
  problem_.clear();
  is_missing_ = false;
  if (options_.file.empty()) {
    problem_ = options_.no_file;
    return nullptr;
  }
  if (now_->disk_hangs()) {
    set_error({Errc::kUnavailable, "the disk does not answer: only values in memory are known"});
    return nullptr;
  }
  struct stat found {};
  if (::stat(options_.file.c_str(), &found) != 0) {
    const int error = errno;
    store_.reset();
    if (error != ENOENT) {
      set_error(errno_error("open", options_.file, error));
      return nullptr;
    }
    problem_ = "there is no " + options_.file + ": only values in memory are known";
    // The file existed before.
    is_missing_ = now_->boot.load() != 0;
    error_code_ = Errc::kAbsent;
    if (is_missing_) count_unread();
    return nullptr;
  }
  if (store_ && (store_device_ != found.st_dev || store_inode_ != found.st_ino)) store_.reset();
  if (!store_) {
    auto opened = HistoryStore::open_to_read(options_.file);
    if (!opened) {
      // An empty one the recorder is about to make.
      if (found.st_size == 0) {
        problem_ = opened.error().message;
      } else {
        set_error(opened.error());
      }
      return nullptr;
    }
    store_ = std::move(*opened);
    store_device_ = found.st_dev;
    store_inode_ = found.st_ino;
  }
  return store_.get();
}

void RecorderPast::set_error(const Error& error) {
  problem_ = error.message;
  error_code_ = error.code;
  is_missing_ = true;
  store_.reset();
  count_unread();
}

void RecorderPast::count_unread() {
  if (!is_counting_) return;
  {
    const std::lock_guard lock(unread_mutex_);
    unread_reason_ = problem_;
  }
  unread_.fetch_add(1, std::memory_order_relaxed);
}

std::string RecorderPast::unread_reason() const {
  const std::lock_guard lock(unread_mutex_);
  return unread_reason_;
}

tl::unexpected<Error> RecorderPast::error() const { return fail(error_code_, problem_); }

RecorderPast::Placed RecorderPast::placed(
    const std::optional<HistoryStore::BootState>& state) const {
  if (state) return {state->number, state->offset, state->trusted, state->until};
  return {now_->boot.load(), Nanoseconds(now_->wall_offset.load()), now_->wall_trusted.load(),
          std::nullopt};
}

RecorderPast::Placed RecorderPast::placed(HistoryStore*& file) {
  if (file == nullptr) return placed(std::nullopt);
  const auto state = file->boot_state(options_.boot_id);
  if (state) return placed(*state);
  set_error(state.error());
  file = nullptr;
  return placed(std::nullopt);
}

Result<std::vector<SeriesKnown>> RecorderPast::series(std::string_view family) {
  const std::vector<Waiting::Block> blocks = steps_.snapshot();
  std::map<std::string, SeriesKnown, std::less<>> all;
  HistoryStore* file = store();
  const Placed as = placed(file);
  if (file != nullptr) {
    auto known = file->series(family);
    if (known) {
      for (SeriesKnown& each : *known) all.emplace(each.key, each);
    } else {
      set_error(known.error());
    }
  }
  if (is_missing_ && error_code_ != Errc::kAbsent) return error();
  for (const Waiting::Block& block : blocks) {
    const std::size_t steps = block->steps();
    if (steps == 0) continue;
    for (std::size_t i = 0; i < block->series(); ++i) {
      const WaitingBlock::Column& column = block->column(i);
      if (!is_of_family(column.key, family)) continue;
      const auto has = [&](std::size_t step) { return !std::isnan(column.values[step]); };
      std::size_t first = 0;
      while (first < steps && !has(first)) ++first;
      if (first == steps) continue;
      std::size_t last = steps - 1;
      while (!has(last)) --last;
      const auto found = all.find(column.key);
      if (found != all.end()) {
        found->second.last = std::max(found->second.last, block->at(last) + as.offset);
      } else if (all.size() < History::kMostSeries) {
        all.emplace(column.key,
                    SeriesKnown{column.key, column.is_counter, block->at(first) + as.offset,
                                block->at(last) + as.offset});
      }
    }
  }
  std::vector<SeriesKnown> out;
  out.reserve(all.size());
  for (auto& [key, known] : all) out.push_back(std::move(known));
  return out;
}

// Of what waits and is not in the file, raw.
std::vector<HistoryPoint> RecorderPast::points_of(const std::vector<Waiting::Block>& blocks,
                                                  const SeriesQuery& requested,
                                                  Resolution resolution, const Placed& placed,
                                                  bool& is_counter) const {
  // A step that is rolled up is of all that is in it.
  Nanoseconds begin = requested.from;
  if (resolution != Resolution::kRaw) {
    const Nanoseconds at = begin - placed.offset;
    if (at > Nanoseconds(0)) begin -= at % resolution_step(resolution, options_.raw_step);
  }
  std::vector<HistoryPoint> out;
  for (const Waiting::Block& block : blocks) {
    const std::size_t steps = block->steps();
    const std::size_t series = block->series();
    for (std::size_t i = 0; i < series; ++i) {
      const WaitingBlock::Column& column = block->column(i);
      if (column.key != requested.key) continue;
      is_counter = column.is_counter;
      for (std::size_t step = 0; step < steps; ++step) {
        const double value = column.values[step];
        HistoryPoint point;
        point.boot_time = block->at(step);
        point.wall = point.boot_time + placed.offset;
        // A block that goes on being filled may have what the next one had.
        const bool is_known = (placed.until && point.boot_time <= *placed.until) ||
                              (!out.empty() && point.boot_time <= out.back().boot_time);
        if (std::isnan(value) || is_known || point.wall < begin || point.wall > requested.to) {
          continue;
        }
        point.boot = placed.boot;
        point.wall_trusted = placed.trusted;
        point.min = point.average = point.max = value;
        out.push_back(point);
      }
      break;
    }
  }
  return out;
}

Result<SeriesPast> RecorderPast::past(const SeriesQuery& given) {
  // Before the file: what is written meanwhile is then in both, and not in neither.
  const std::vector<Waiting::Block> blocks = steps_.snapshot();
  SeriesQuery requested = given;
  for (;;) {
    SeriesPast out;
    out.key = requested.key;
    HistoryStore::WindowStateQuery state{options_.boot_id, std::nullopt};
    if (HistoryStore* file = store()) {
      auto known = file->past(requested, &state);
      if (known) {
        out = std::move(*known);
      } else {
        set_error(known.error());
        state.state.reset();
      }
    }
    if (is_missing_) out.problem = printable("part of the past is missing: " + problem_, 400);
    const Resolution resolution = !out.points.empty()
                                      ? out.points.back().resolution
                                      : requested.resolution.value_or(Resolution::kRaw);
    std::vector<HistoryPoint> newer =
        points_of(blocks, requested, resolution, placed(state.state), out.is_counter);
    if (resolution != Resolution::kRaw) {
      newer = rolled_up(newer, resolution, resolution_step(resolution, options_.raw_step));
    }
    append(out.points, std::move(newer));
    if (out.points.size() <= requested.most) return out;
    if (!given.resolution && !out.cut && resolution != Resolution::kQuarter) {
      requested.resolution = static_cast<Resolution>(static_cast<int>(resolution) + 1);
      continue;
    }
    out.points.erase(out.points.begin(),
                     out.points.end() - static_cast<std::ptrdiff_t>(requested.most));
    out.cut = true;
    return out;
  }
}

Result<std::vector<std::pair<std::string, double>>> RecorderPast::at(Nanoseconds wall,
                                                                     Nanoseconds timeout) {
  const std::vector<Waiting::Block> blocks = steps_.snapshot();
  std::map<std::string, double, std::less<>> all;
  HistoryStore* file = store();
  const Placed as = placed(file);
  if (file != nullptr) {
    auto known = file->at(wall, timeout);
    if (known) {
      for (auto& [key, value] : *known) all[key] = value;
    } else {
      set_error(known.error());
    }
  }
  if (is_missing_ && error_code_ != Errc::kAbsent) return error();
  const Nanoseconds boot_time = wall - as.offset;
  // The newest last, so that it wins.
  for (const Waiting::Block& block : blocks) {
    const std::size_t steps = block->steps();
    const std::size_t series = block->series();
    for (std::size_t i = 0; i < series; ++i) {
      const WaitingBlock::Column& column = block->column(i);
      for (std::size_t step = steps; step-- > 0;) {
        if (block->at(step) > boot_time || std::isnan(column.values[step])) continue;
        if (boot_time - block->at(step) <= timeout) all[column.key] = column.values[step];
        break;
      }
    }
  }
  return std::vector<std::pair<std::string, double>>(all.begin(), all.end());
}

// The ids of what waits follow this one.
std::optional<std::int64_t> RecorderPast::events_before(HistoryStore*& file) {
  if (const std::int64_t before = now_->events_before.load(); before >= 0) return before;
  if (file == nullptr) return 0;
  const auto last = file->last_event();
  if (last) return *last;
  set_error(last.error());
  file = nullptr;
  return std::nullopt;
}

Result<EventsPast> RecorderPast::events(const EventsQuery& requested) {
  EventsPast out;
  const std::vector<WaitingEvents::Each> waiting = events_.snapshot();
  const std::vector<Waiting::Block> blocks = steps_.snapshot();
  HistoryStore* file = store();
  const Placed as = placed(file);
  const std::int64_t before = events_before(file).value_or(0);
  if (file != nullptr) {
    auto known = file->events(requested);
    if (known) {
      out = std::move(*known);
    } else {
      set_error(known.error());
    }
  }
  out.boot = as.boot;
  if (is_missing_) out.problem = printable("part of the past is missing: " + problem_, 400);
  std::optional<Nanoseconds> now;
  for (const Waiting::Block& block : blocks) {
    if (const std::size_t steps = block->steps(); steps > 0) now = block->at(steps - 1) + as.offset;
  }
  const std::size_t written = out.events.size();
  for (auto each = waiting.rbegin(); each != waiting.rend(); ++each) {
    EventRecord record = WaitingEvents::record_of(*each);
    record.id = before + static_cast<std::int64_t>(each->number);
    if (requested.before && record.id >= *requested.before) continue;
    if (record.at) record.wall = *record.at + as.offset;
    record.boot = as.boot;
    record.wall_trusted = as.trusted;
    if (!requested.wants(record, record.wall ? record.wall : now)) continue;
    const bool is_written = std::any_of(
        out.events.begin(), out.events.begin() + static_cast<std::ptrdiff_t>(written),
        [&](const EventRecord& other) { return record.id == other.id || is_same(record, other); });
    if (!is_written) out.events.push_back(std::move(record));
  }
  std::stable_sort(out.events.begin(), out.events.end(),
                   [](const EventRecord& a, const EventRecord& b) { return a.id > b.id; });
  if (out.events.size() > requested.most) {
    out.events.resize(requested.most);
    out.more = true;
  }
  return out;
}

Nanoseconds RecorderPast::now(Nanoseconds wall, Nanoseconds boot) {
  // The question that follows counts what cannot be read.
  struct Counting {
    bool& is_on;
    ~Counting() { is_on = true; }
  } const counting{is_counting_};
  is_counting_ = false;
  HistoryStore* file = store();
  const Placed as = placed(file);
  return as.boot == 0 ? wall : boot + as.offset;
}

Result<HistoryFacts> RecorderPast::facts() {
  HistoryFacts out;
  std::set<std::string, std::less<>> keys;
  const std::vector<Waiting::Block> blocks = steps_.snapshot();
  HistoryStore* file = store();
  const Placed as = placed(file);
  if (file != nullptr) {
    auto known = file->facts();
    if (known) {
      out = std::move(*known);
    } else {
      set_error(known.error());
      file = nullptr;
    }
  }
  out.location = options_.file.empty() ? "memory" : options_.file;
  out.raw_step = options_.raw_step;
  out.events += events_.size();
  if (!problem_.empty()) out.problem = printable(problem_, 400);
  for (const Waiting::Block& block : blocks) {
    const std::size_t steps = block->steps();
    if (steps == 0) continue;
    const Nanoseconds first = block->at(0) + as.offset;
    const Nanoseconds last = block->at(steps - 1) + as.offset;
    if (!out.oldest || first < *out.oldest) out.oldest = first;
    if (!out.newest || last > *out.newest) out.newest = last;
    if (file == nullptr) {
      for (std::size_t i = 0; i < block->series(); ++i) keys.insert(block->column(i).key);
    }
  }
  if (file == nullptr) {
    out.series = keys.size();
    BootKnown boot;
    boot.number = as.boot;
    boot.boot_id = options_.boot_id;
    boot.first_wall = out.oldest;
    boot.last_wall = out.newest;
    boot.wall_trusted = as.trusted;
    out.boots = {std::move(boot)};
  }
  return out;
}

}  // namespace jetmem
