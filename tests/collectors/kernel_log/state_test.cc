// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/state.h"

#include <gtest/gtest.h>

#include "collectors/kernel_log/catalogue/message.h"

namespace jetmem::kernel_log {
namespace {

SavedLog example() {
  Tally tally;
  Event event(EventKind::kOomKill);
  event.set_text("comm", "cam \"1\"\xff\n");
  event.set_number("pid", 4);
  tally.count(event, std::chrono::seconds(3), true);
  tally.add_suppressed(EventKind::kMcError, 7, std::chrono::seconds(5));
  static const Message kOwn{.id = "own", .kind = EventKind::kCustom};
  Event own(EventKind::kCustom);
  own.set_message(&kOwn);
  tally.count(own, std::chrono::seconds(4), false);
  Event guess(EventKind::kDmaAllocFailure);
  guess.set_text("driver", "foo\xff");
  tally.count_guess(guess, std::chrono::seconds(4), false);
  SavedLog saved;
  saved.kernel_cursor = "s=1;i=1";
  saved.process_cursor = "s=1;i=2";
  saved.last_stamp = std::chrono::microseconds(77);
  saved.last_seq = 4711;
  saved.last_was_line = true;
  saved.lost = 3;
  saved.lost_before_start = 2;
  saved.tally = tally.save();
  saved.tally.entries[0].reported = 1;
  saved.tally.entries[0].report_at = std::chrono::seconds(60);
  return saved;
}

TEST(SavedLog, SurvivesTheRoundTrip) {
  const SavedLog saved = example();
  const auto read = parse_saved_log(to_text(saved));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->kernel_cursor, saved.kernel_cursor);
  EXPECT_EQ(read->process_cursor, saved.process_cursor);
  EXPECT_EQ(read->last_stamp, saved.last_stamp);
  EXPECT_EQ(read->lost, 3U);
  EXPECT_EQ(read->lost_before_start, 2U);
  EXPECT_EQ(read->last_seq, saved.last_seq);
  EXPECT_TRUE(read->last_was_line);
  EXPECT_EQ(to_text(*read), to_text(saved));
  // The same process' next kill is found again under its name.
  Tally tally;
  tally.restore(read->tally);
  Event event(EventKind::kOomKill);
  event.set_text("comm", "cam \"1\"\xff\n");
  EXPECT_EQ(tally.count(event, std::chrono::seconds(9), false).entry->count, 2U);
  EXPECT_EQ(tally.events(EventKind::kMcError, Origin::kSystem), 7U);
  ASSERT_NE(tally.message("own"), nullptr);
  EXPECT_EQ(tally.message("own")->recent.sum(std::chrono::seconds(9)), 1U);
  ASSERT_EQ(tally.guesses().size(), 1U);
  EXPECT_EQ(tally.guesses()[0].count, 1U);
}

TEST(SavedLog, KeepsTheLargestCmaRequestAndDoesWithoutOne) {
  Tally tally;
  Event event(EventKind::kCmaAllocFailure);
  event.set_text("area", "camera");
  event.set_number("pages", 12288);
  tally.count(event, std::chrono::seconds(3), true);
  SavedLog saved = example();
  saved.tally = tally.save();
  const std::string text = to_text(saved);
  const auto read = parse_saved_log(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->tally.entries[0].largest_pages, 12288U);
  // As an earlier version wrote it.
  const std::string_view field = "\"largest_pages\":12288,";
  std::string without = text;
  without.erase(without.find(field), field.size());
  const auto old = parse_saved_log(without);
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(old->tally.entries[0].largest_pages, 0U);
  std::string negative = text;
  negative.replace(negative.find("12288"), 5, "-1");
  EXPECT_FALSE(parse_saved_log(negative));
}

TEST(SavedLog, IsReadAsEarlierVersionsWroteIt) {
  std::string text = to_text(example());
  // They did not tell the probe's apart, and kept neither messages nor guesses.
  const std::string_view suppressed = "[7,0]";
  text.replace(text.find(suppressed, text.find("\"suppressed\":[7")), suppressed.size(), "7");
  text.replace(text.find(",\"messages\""), std::string::npos, "}\n");
  const auto read = parse_saved_log(text);
  ASSERT_TRUE(read) << read.error().message;
  Tally tally;
  tally.restore(read->tally);
  EXPECT_EQ(tally.suppressed(EventKind::kMcError, Origin::kSystem), 7U);
  EXPECT_TRUE(read->tally.messages.empty() && read->tally.guesses.empty());
}

TEST(SavedLog, RefusesWhatIsNotWholeOrNotItsOwn) {
  const std::string text = to_text(example());
  for (const char* other : {"", "[]", "{}"}) EXPECT_FALSE(parse_saved_log(other)) << other;
  for (std::size_t size = 0; size < text.size() - 2; size += 7) {
    EXPECT_FALSE(parse_saved_log(std::string_view(text).substr(0, size))) << size;
  }
  std::string other_kind = text;
  other_kind.replace(other_kind.find("oom_kill"), 8, "oom_kilt");
  EXPECT_FALSE(parse_saved_log(other_kind));
  // What may be missing is not taken for missing where it is of another type.
  for (const std::string name : {"\"messages\":", "\"last_seq\":", "\"parts\":["}) {
    std::string other_type = text;
    other_type.insert(other_type.find(name) + name.size(), name.back() == '[' ? "7," : "{},\"x\":");
    EXPECT_FALSE(parse_saved_log(other_type)) << name;
  }
}

}  // namespace
}  // namespace jetmem::kernel_log
