// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/state.h"

#include <algorithm>

#include "base/json/fields.h"

namespace jetmem::kernel_log {
namespace {

using json::Fields;

std::string_view kind_name(EventKind kind) { return info_of(kind).name; }

void describe_kind(Fields& v, EventKind& kind) {
  if (!v.word("kind", kind, kind_name, kind_named)) v.missing("kind");
}

void describe_part(Fields& v, Fields::Key key, Entry::Part& part) {
  std::string text(part.view());
  v.required(key, text);
  if (v.reading()) part.set(text);
}

void describe_times(Fields& v, std::optional<Nanoseconds>& first,
                    std::optional<Nanoseconds>& last) {
  v.required_count_or_null("first", first);
  v.required_count_or_null("last", last);
}

struct SavedKind {
  EventKind kind = EventKind::kNone;
  Tally::KindCounts counts;
};

void describe(Fields& v, SavedKind& saved) {
  Tally::KindCounts& counts = saved.counts;
  describe_kind(v, saved.kind);
  v.required_counts("count", counts.count, kOrigins);
  if (!v.reading() || v.list_size("suppressed")) {
    v.required_counts("suppressed", counts.suppressed, kOrigins);
  } else {
    // Earlier versions did not tell the probe's apart.
    v.required("suppressed", counts.suppressed[0]);
  }
  v.required("before_start", counts.before_start);
  v.required_count_or_null("last", counts.last);
}

void describe_guess(Fields& v, Entry& guess) {
  guess.other = v.is_null("kind", !guess.other);
  if (!guess.other) describe_kind(v, guess.kind);
  describe_part(v, "driver", guess.parts[0]);
  v.required("count", guess.count);
  v.required("reported", guess.reported);
}

}  // namespace

static void describe(Fields& v, Entry& entry) {
  describe_kind(v, entry.kind);
  auto origin = static_cast<std::uint64_t>(entry.origin);
  v.required("origin", origin);
  if (origin >= kOrigins) v.missing("origin");
  v.required("other", entry.other);
  std::vector<std::string> parts;
  const auto& key = info_of(entry.kind).key;
  for (std::size_t i = 0; !v.reading() && i < key.size() && !key[i].empty(); ++i) {
    parts.emplace_back(entry.parts[i].view());
  }
  v.required("parts", parts);
  v.required("count", entry.count);
  // Of few kinds, and earlier versions did not keep it.
  v.unless_empty("largest_pages", entry.largest_pages);
  v.unless_empty("quiet", entry.quiet);
  describe_times(v, entry.first, entry.last);
  v.required("reported", entry.reported);
  v.required_count("tell_at", entry.report_at);
  v.required_count("tell_pause", entry.report_pause);
  if (!v.reading()) return;
  entry.origin = static_cast<Origin>(origin);
  for (std::size_t i = 0; i < std::min(parts.size(), entry.parts.size()); ++i) {
    entry.parts[i].set(parts[i]);
  }
}

static void describe(Fields& v, MessageCount& message) {
  describe_part(v, "id", message.id);
  describe_kind(v, message.kind);
  v.required_counts("count", message.count, kOrigins);
  v.required("quiet", message.quiet);
  describe_times(v, message.first, message.last);
}

static void describe(Fields& v, SavedLog& saved) {
  Tally::Saved& tally = saved.tally;
  v.required_exact("kernel_cursor", saved.kernel_cursor);
  v.required_exact("process_cursor", saved.process_cursor);
  v.required_or_null("last_seq", saved.last_seq);
  v.required_count_or_null("last_stamp_us", saved.last_stamp, INT64_MIN);
  v.required("last_was_line", saved.last_was_line);
  v.required("lost", saved.lost);
  v.required("lost_before_start", saved.lost_before_start);
  v.required("others", tally.others);
  v.required("next_incident", tally.next_incident);
  v.required_counts("incidents", tally.incidents, 0);
  std::vector<SavedKind> kinds;
  for (const KindInfo& info : all_kinds()) {
    const Tally::KindCounts& counts = tally.kinds[static_cast<std::size_t>(info.kind)];
    if (counts.count[0] > 0 || counts.count[1] > 0) kinds.push_back({info.kind, counts});
  }
  v.required("kinds", kinds);
  v.required("entries", tally.entries);
  // Earlier versions did not have these.
  v("messages", tally.messages);
  v.list("guesses", tally.guesses, describe_guess);
  if (!v.reading()) return;
  for (const SavedKind& each : kinds)
    tally.kinds[static_cast<std::size_t>(each.kind)] = each.counts;
  const auto bound = [](auto& list, std::size_t most) { list.resize(std::min(list.size(), most)); };
  bound(tally.entries, Tally::kMaxKeys + kKindCount * kOrigins);
  bound(tally.messages, Tally::kMaxMessages);
  bound(tally.guesses, Tally::kMaxGuesses + 1);
}

std::string to_text(const SavedLog& saved) { return json::write(saved, -1); }

Result<SavedLog> parse_saved_log(std::string_view text) {
  return json::read<SavedLog>(text, json::From::kFile);
}

}  // namespace jetmem::kernel_log
