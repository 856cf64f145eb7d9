// SPDX-License-Identifier: Apache-2.0
#include "cli/probe/probe_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/texts.h"

namespace jetmem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kMiB = 1U << 20;

std::string error_of(const ProbeOptions& options) {
  const auto needed = understand(options);
  return needed ? "" : needed.error().message;
}

TEST(ProbeSelection, WithoutOptionsAllKinds) {
  const auto needed = must(understand({}));
  EXPECT_THAT(needed.kinds[0], ElementsAre("host", "dmabuf"));
  EXPECT_EQ(needed.kinds[1].size(), 9U);
  EXPECT_EQ(needed.frame_bytes, 12 * kMiB);
  EXPECT_EQ(needed.deadline, std::chrono::seconds(60));
  EXPECT_FALSE(needed.limit);
}

TEST(ProbeSelection, KindsAreOnceAndInTheirGroup) {
  const auto needed = understand({.kinds = {"device", "pinned", "device"}});
  EXPECT_THAT(needed->kinds[0], IsEmpty());
  EXPECT_THAT(needed->kinds[1], ElementsAre("pinned", "device"));
  EXPECT_THAT(error_of({.kinds = {"pined"}}), HasSubstr("did you mean 'pinned'?"));
  EXPECT_THAT(error_of({.kinds = {""}}), HasSubstr("kind ''"));
  EXPECT_THAT(error_of({.kinds = {"\033[2J"}}), HasSubstr("'?[2J'"));
}

TEST(ProbeSelection, SizesAndTimesHaveBounds) {
  EXPECT_EQ(understand({.size = "4KiB"})->frame_bytes, 4096U);
  EXPECT_EQ(understand({.size = "256MiB"})->frame_bytes, 256 * kMiB);
  for (const char* size : {"4095B", "257MiB"}) {
    EXPECT_THAT(error_of({.size = size}), HasSubstr("--size: expected a size from 4KiB to 256MiB"));
  }
  EXPECT_THAT(error_of({.size = "12"}), HasSubstr("--size: '12' is not a size"));
  EXPECT_EQ(understand({.deadline = "1500ms"})->deadline, std::chrono::seconds(2));
  for (const char* deadline : {"999ms", "60", "601s"}) {
    EXPECT_THAT(error_of({.deadline = deadline}), HasSubstr("--deadline")) << deadline;
  }
}

TEST(ProbeSelection, ABisectionIsOfOneKind) {
  EXPECT_EQ(error_of({.kinds = {"dmabuf"}, .bisect = true}), "");
  for (const std::vector<std::string>& kinds :
       {std::vector<std::string>{}, {"host"}, {"pinned", "device"}}) {
    EXPECT_THAT(error_of({.kinds = kinds, .bisect = true}), HasSubstr("one --kind"));
  }
  EXPECT_THAT(error_of({.kinds = {"pinned"}, .limit = "1MiB", .bisect = true}),
              HasSubstr("at least the --size"));
}

TEST(BisectLimit, LeavesRoomToOthers) {
  ProbeSelection needed;
  needed.frame_bytes = 12 * kMiB;
  GateInputs now;
  now.available_bytes = 2048 * kMiB;
  EXPECT_EQ(bisect_limit(needed, now, false)->bytes, 1536 * kMiB);
  needed.limit = 100 * kMiB;
  EXPECT_EQ(bisect_limit(needed, now, false)->bytes, 100 * kMiB);
  needed.limit = 4096 * kMiB;
  EXPECT_EQ(bisect_limit(needed, now, false)->bytes, 1536 * kMiB);
  EXPECT_THAT(bisect_limit(needed, now, false)->warning, HasSubstr("lowered to 1.5 GiB"));
  EXPECT_EQ(bisect_limit(needed, now, true)->bytes, 4096 * kMiB);
  EXPECT_EQ(bisect_limit(needed, now, true)->warning, "");
}

// Which would ask for an ordinary probe.
TEST(BisectLimit, IsNeverNothing) {
  ProbeSelection needed;
  needed.frame_bytes = 4096;
  needed.limit = 32 << 10;
  GateInputs now;
  now.available_bytes = 2048 * kMiB;
  EXPECT_THAT(bisect_limit(needed, now, false).error().message, HasSubstr("less than 64 KiB"));
  needed.limit = 0;
  EXPECT_THAT(bisect_limit(needed, now, true).error().message, HasSubstr("--limit is 0"));
}

TEST(BisectLimit, FreeCmaIsRoomForDmaHeapsOnly) {
  GateInputs now;
  now.available_bytes = 600 * kMiB;
  now.available_with_cma_bytes = 1600 * kMiB;
  ProbeSelection needed = *understand({.kinds = {"dmabuf"}, .bisect = true});
  EXPECT_EQ(bisect_limit(needed, now, false)->bytes, 1088 * kMiB);
  needed = *understand({.kinds = {"pinned"}, .bisect = true});
  EXPECT_EQ(bisect_limit(needed, now, false)->bytes, 88 * kMiB);
  now.available_bytes = 500 * kMiB;
  EXPECT_THAT(bisect_limit(needed, now, false).error().message, HasSubstr("500 MiB"));
}

TEST(BisectLimit, IsRefusedWithoutRoom) {
  ProbeSelection needed;
  needed.frame_bytes = 12 * kMiB;
  GateInputs now;
  EXPECT_THAT(bisect_limit(needed, now, false).error().message, HasSubstr("MemAvailable"));
  for (const std::uint64_t available : {0U, 512U, 523U}) {
    now.available_bytes = available * kMiB;
    EXPECT_FALSE(bisect_limit(needed, now, false)) << available;
    EXPECT_FALSE(bisect_limit(needed, now, true)) << "how far is not said";
  }
  now.available_bytes = 524 * kMiB;
  EXPECT_TRUE(bisect_limit(needed, now, false));
  now.available_bytes.reset();
  needed.limit = 64 * kMiB;
  EXPECT_EQ(bisect_limit(needed, now, true)->bytes, 64 * kMiB);
}

}  // namespace
}  // namespace jetmem
