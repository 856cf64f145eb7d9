// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/history.h"

#include <algorithm>

#include "base/clock.h"
#include "base/json/fields.h"
#include "base/text/text.h"

namespace jetmem::boot {
namespace {

constexpr std::array<std::string_view, 3> kRunEnds{"running", "stopped", "shutdown"};
constexpr std::array<std::string_view, 4> kDeviceEnds{"running", "clean", "unclean", "unknown"};
constexpr std::array<std::string_view, kWhats> kWhatNames{"kernel",  "l4t",      "power_mode",
                                                          "cmdline", "settings", "version"};
constexpr std::array<std::string_view, kWhats> kWhatWords{
    "kernel",           "L4T release", "power mode", "kernel command line", "settings of jetmemd",
    "version of jetmem"};

constexpr std::uint64_t kMaxCount = INT64_MAX / 4;

void describe_count(json::Fields& v, json::Fields::Key key, std::uint64_t& count) {
  v.required(key, count);
  if (count > kMaxCount) v.missing(key);
}

void keep_short(std::string& text) { text = printable(text, History::kMaxValue); }

// Not overloads of describe(): answers have these structs in another form.
void describe_moment(json::Fields& v, json::Fields::Key key, Moment& moment) {
  v.object(key, [&](json::Fields& w) { w.row({&moment.wall, &moment.uptime}); });
  // So that it can be counted with and shown.
  const bool is_likely = moment.wall >= 0 && moment.wall <= kLastSecond &&
                         moment.uptime <= static_cast<std::uint64_t>(kLastSecond);
  if (!is_likely) v.missing(key);
}

void describe_boot(json::Fields& v, Boot& boot) {
  describe_count(v, "n", boot.number);
  v.required("id", boot.id);
  describe_moment(v, "first", boot.first);
  describe_moment(v, "last", boot.last);
  describe_count(v, "starts", boot.starts);
  v.unless_false("starts_are_least", boot.starts_are_least);
  describe_count(v, "unclean_runs", boot.unclean_runs);
  // A word that an older jetmem knows: it must not lose the history over it.
  bool not_reported = boot.run == RunEnd::kNotReported;
  RunEnd run = not_reported ? RunEnd::kStopped : boot.run;
  v.required_word("run", run, kRunEnds);
  v.unless_false("not_reported", not_reported);
  v.required_word("end", boot.end, kDeviceEnds);
  v.unless_empty("reset_reason", boot.reset_reason);
  v.unless_empty("reset_level", boot.reset_level);
  v.unless_empty("crash", boot.crash);
  v.unless_false("looked", boot.checked);
  v.unless_false("reported", boot.reported);
  for (std::size_t i = 0; i < kWhats; ++i) v.unless_empty(kWhatNames[i].data(), boot.values[i]);
  if (!v.reading()) return;
  boot.run = run == RunEnd::kStopped && not_reported ? RunEnd::kNotReported : run;
  for (auto* text : {&boot.id, &boot.reset_reason, &boot.reset_level, &boot.crash})
    keep_short(*text);
  for (std::string& value : boot.values) keep_short(value);
}

void describe_change(json::Fields& v, Change& change) {
  describe_count(v, "n", change.boot);
  describe_moment(v, "at", change.at);
  v.required_word("what", change.what, kWhatNames);
  v.required("from", change.from);
  v.required("to", change.to);
  if (!v.reading()) return;
  keep_short(change.from);
  keep_short(change.to);
}

}  // namespace

std::string_view device_end_name(DeviceEnd end) {
  return kDeviceEnds[static_cast<std::size_t>(end)];
}
std::string_view what_name(What what) { return kWhatNames[static_cast<std::size_t>(what)]; }
std::string_view what_text(What what) { return kWhatWords[static_cast<std::size_t>(what)]; }

void History::count_starts(std::uint64_t in_boot, std::optional<std::uint64_t> stopped) {
  if (boots.empty() || in_boot <= boots.back().starts) return;
  Boot& boot = boots.back();
  const std::uint64_t added = in_boot - boot.starts;
  const bool ran = boot.starts > 0 && boot.run == RunEnd::kRunning;
  std::uint64_t unclean = ran ? added : added - 1;
  if (stopped) {
    // This history may have been lost since.
    const std::uint64_t ended = in_boot - 1;
    const std::uint64_t all = ended - std::min(ended, *stopped);
    unclean = std::min(unclean, all - std::min(all, boot.unclean_runs));
  }
  boot.starts = in_boot;
  starts += added;
  boot.unclean_runs += unclean;
  unclean_runs += unclean;
}

const Boot* History::before() const {
  return boots.size() < 2 ? nullptr : &boots[boots.size() - 2];
}

const Change* History::last_change(What what) const {
  for (std::size_t i = changes.size(); i-- > 0;) {
    if (changes[i].what == what) return &changes[i];
  }
  return nullptr;
}

std::optional<std::int64_t> began(const Moment& moment) {
  if (!moment.plausible()) return std::nullopt;
  return moment.wall - static_cast<std::int64_t>(moment.uptime);
}

Moment from_last_clock(const History& history, std::string_view boot_id, const Moment& moment) {
  Moment found = moment;
  for (std::size_t i = history.boots.size(); i-- > 0;) {
    if (boot_id.empty() || history.boots[i].id != boot_id) continue;
    const auto begin = began(history.boots[i].last);
    if (begin) found.wall = *begin + static_cast<std::int64_t>(moment.uptime);
    break;
  }
  return found;
}

std::optional<std::int64_t> seconds_down(const History& history) {
  const Boot* before = history.before();
  if (before == nullptr || !before->last.plausible()) return std::nullopt;
  const auto begin = began(history.boots.back().last);
  if (!begin || *begin < before->last.wall) return std::nullopt;
  return *begin - before->last.wall;
}

static void describe(json::Fields& v, History& history) {
  std::int64_t format = kFormat;
  v.required("format", format);
  if (format != kFormat) {
    v.fail("format",
           "is " + std::to_string(format) + ", this jetmem knows " + std::to_string(kFormat));
  }
  describe_count(v, "boots_seen", history.boots_seen);
  describe_count(v, "starts", history.starts);
  v.unless_false("starts_are_least", history.starts_are_least);
  describe_count(v, "unclean_boots", history.unclean_boots);
  describe_count(v, "unclean_runs", history.unclean_runs);
  json::Fields::Map<std::uint64_t> changes_seen;
  for (std::size_t i = 0; i < kWhats && !v.reading(); ++i) {
    changes_seen.emplace_back(kWhatNames[i], history.changes_seen[i]);
  }
  v.required("changes_seen", changes_seen);
  describe_count(v, "marks_seen", history.marks_seen);
  describe_count(v, "last_mark", history.last_mark);
  if (!v.is_null("mark_at", history.mark_at.has_value())) {
    describe_moment(v, "mark_at", v.reading() ? history.mark_at.emplace() : *history.mark_at);
  }
  v.unless_empty("mark_boot", history.mark_boot);
  if (!v.list("boots", history.boots, describe_boot)) v.missing("boots");
  if (!v.list("changes", history.changes, describe_change)) v.missing("changes");
  v.required("crash_records", history.crash_records);
  if (!v.reading()) return;
  keep_short(history.mark_boot);
  for (const auto& [name, count] : changes_seen) {
    const auto what = std::find(kWhatNames.begin(), kWhatNames.end(), name);
    if (what == kWhatNames.end() || count > kMaxCount) return v.missing("changes_seen");
    history.changes_seen[static_cast<std::size_t>(what - kWhatNames.begin())] = count;
  }
  const auto is_wrong = [](const Boot& a, const Boot& b) { return a.number >= b.number; };
  if (history.boots.size() > History::kMaxBoots ||
      std::adjacent_find(history.boots.begin(), history.boots.end(), is_wrong) !=
          history.boots.end()) {
    v.fail("boots", "are too many, or not in order");
  }
  if (history.changes.size() > History::kMaxChanges) v.fail("changes", "are too many");
  if (history.crash_records.size() > History::kMaxDigests) v.fail("crash_records", "are too many");
}

std::string to_text(const History& history) { return json::write(history, -1); }

Result<void> parse_history(std::string_view text, History& out) {
  out.clear();
  return json::read_document(
      text, [&](json::Fields& v) { describe(v, out); }, json::From::kFile);
}

}  // namespace jetmem::boot
