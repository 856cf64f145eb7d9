// SPDX-License-Identifier: Apache-2.0
// Over restarts of the daemon no count of the kernel's log goes backwards or forgets: whenever it
// is kept and taken up again, it is what one daemon would have counted alone.
#include <gtest/gtest.h>

#include "collectors/kernel_log/decode/decode.h"
#include "collectors/kernel_log/state.h"
#include "tests/random_input.h"

namespace jetmem::kernel_log {
namespace {

using test::RandomInput;

Event random_event(RandomInput& random) {
  // Kinds of all sorts: with key fields that are not printed as well.
  Event event(static_cast<EventKind>(1 + random.below(kKindCount - 1)));
  if (random.one_in(2)) event.set_text("client", random.word("abc", 2));
  if (random.one_in(2)) event.set_text("area", random.word("xyz", 2));
  if (random.one_in(2)) event.set_text("comm", random.word("uvw", 3));
  return event;
}

std::uint64_t all(const Tally& tally) {
  return tally.events(Origin::kSystem) + tally.events(Origin::kProbe);
}

TEST(TallyRestart, NothingIsForgottenOrCountedTwice) {
  for (std::uint64_t seed = 60; seed < 63; ++seed) {
    RandomInput random(seed);
    Tally alone;
    auto restarted = std::make_unique<Tally>();
    Nanoseconds now = std::chrono::seconds(100);
    std::uint64_t before = 0;
    for (int i = 0; i < 1000; ++i) {
      now += std::chrono::milliseconds(random.number(10'000));
      const Event event = random_event(random);
      const std::optional<Nanoseconds> time = random.one_in(9) ? std::nullopt : std::optional(now);
      alone.count(event, time, false);
      restarted->count(event, time, false);
      if (random.one_in(5)) {
        const std::uint64_t more = random.below(9);
        alone.add_suppressed(event.kind(), more, time);
        restarted->add_suppressed(event.kind(), more, time);
      }
      if (random.one_in(50)) {
        SavedLog saved;
        saved.tally = restarted->save();
        auto read = parse_saved_log(to_text(saved));
        ASSERT_TRUE(read) << read.error().message;
        restarted = std::make_unique<Tally>();
        restarted->restore(std::move(read->tally));
      }
      ASSERT_GE(all(*restarted), before);
      before = all(*restarted);
    }
    EXPECT_EQ(all(*restarted), all(alone));
    for (std::size_t kind = 0; kind < kKindCount; ++kind) {
      const auto each = static_cast<EventKind>(kind);
      for (const Origin origin : {Origin::kSystem, Origin::kProbe}) {
        EXPECT_EQ(restarted->events(each, origin), alone.events(each, origin)) << kind;
        EXPECT_EQ(restarted->suppressed(each, origin), alone.suppressed(each, origin)) << kind;
      }
      EXPECT_EQ(restarted->last_seen(each), alone.last_seen(each)) << kind;
    }
    EXPECT_EQ(restarted->others(), alone.others());
    ASSERT_EQ(restarted->entries().size(), alone.entries().size());
    for (std::size_t i = 0; i < alone.entries().size(); ++i) {
      const Entry& a = alone.entries()[i];
      const Entry& b = restarted->entries()[i];
      EXPECT_EQ(a.count, b.count);
      EXPECT_EQ(a.hash, b.hash);
      EXPECT_EQ(a.first, b.first);
      EXPECT_EQ(a.last, b.last);
    }
  }
}

}  // namespace
}  // namespace jetmem::kernel_log
