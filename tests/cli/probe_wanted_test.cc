#include "cli/probe_wanted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace jetmem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kMiB = 1U << 20;

std::string error_of(const ProbeOptions& options) {
  const auto wanted = understand(options);
  return wanted ? "" : wanted.error().message;
}

TEST(WantedProbes, WithoutOptionsAllKinds) {
  const auto wanted = understand({});
  ASSERT_TRUE(wanted) << wanted.error().message;
  EXPECT_THAT(wanted->kinds[0], ElementsAre("host", "dmabuf"));
  EXPECT_EQ(wanted->kinds[1].size(), 8U);
  EXPECT_EQ(wanted->frame_bytes, 12 * kMiB);
  EXPECT_EQ(wanted->deadline, std::chrono::seconds(60));
  EXPECT_FALSE(wanted->limit);
}

TEST(WantedProbes, KindsAreOnceAndInTheirGroup) {
  const auto wanted = understand({.kinds = {"device", "pinned", "device"}});
  EXPECT_THAT(wanted->kinds[0], IsEmpty());
  EXPECT_THAT(wanted->kinds[1], ElementsAre("pinned", "device"));
  EXPECT_THAT(error_of({.kinds = {"pined"}}), HasSubstr("did you mean 'pinned'?"));
  EXPECT_THAT(error_of({.kinds = {""}}), HasSubstr("no kind is called ''"));
  EXPECT_THAT(error_of({.kinds = {"\033[2J"}}), HasSubstr("'?[2J'"));
}

TEST(WantedProbes, SizesAndTimesHaveBounds) {
  EXPECT_EQ(understand({.size = "4KiB"})->frame_bytes, 4096U);
  EXPECT_EQ(understand({.size = "256MiB"})->frame_bytes, 256 * kMiB);
  EXPECT_THAT(error_of({.size = "4095B"}),
              HasSubstr("--size: expected a size from 4KiB to 256MiB"));
  EXPECT_THAT(error_of({.size = "257MiB"}), HasSubstr("--size"));
  EXPECT_THAT(error_of({.size = "12"}), HasSubstr("--size: '12' is not a size"));
  EXPECT_EQ(understand({.deadline = "1500ms"})->deadline, std::chrono::seconds(2));
  EXPECT_THAT(error_of({.deadline = "999ms"}), HasSubstr("--deadline"));
  EXPECT_THAT(error_of({.deadline = "601s"}), HasSubstr("--deadline"));
}

TEST(WantedProbes, ABisectionIsOfOneKind) {
  EXPECT_EQ(error_of({.kinds = {"dmabuf"}, .bisect = true}), "");
  EXPECT_THAT(error_of({.bisect = true}), HasSubstr("one --kind"));
  EXPECT_THAT(error_of({.kinds = {"host"}, .bisect = true}), HasSubstr("one --kind"));
  EXPECT_THAT(error_of({.kinds = {"pinned", "device"}, .bisect = true}), HasSubstr("one --kind"));
  EXPECT_THAT(error_of({.limit = "1GiB"}), HasSubstr("--limit goes with --bisect"));
  EXPECT_THAT(error_of({.kinds = {"pinned"}, .limit = "1MiB", .bisect = true}),
              HasSubstr("at least the --size"));
}

TEST(BisectLimit, LeavesRoomToOthers) {
  WantedProbes wanted;
  wanted.frame_bytes = 12 * kMiB;
  GateInputs now;
  now.available_bytes = 2048 * kMiB;
  EXPECT_EQ(bisect_limit(wanted, now, false)->bytes, 1536 * kMiB);
  wanted.limit = 100 * kMiB;
  EXPECT_EQ(bisect_limit(wanted, now, false)->bytes, 100 * kMiB);
  wanted.limit = 4096 * kMiB;
  EXPECT_EQ(bisect_limit(wanted, now, false)->bytes, 1536 * kMiB);
  EXPECT_THAT(bisect_limit(wanted, now, false)->warning, HasSubstr("lowered to 1536MiB"));
  EXPECT_EQ(bisect_limit(wanted, now, true)->bytes, 4096 * kMiB);
  EXPECT_EQ(bisect_limit(wanted, now, true)->warning, "");
}

TEST(BisectLimit, FreeCmaIsRoomForDmaHeapsOnly) {
  GateInputs now;
  now.available_bytes = 600 * kMiB;
  now.available_with_cma_bytes = 1600 * kMiB;
  WantedProbes wanted = *understand({.kinds = {"dmabuf"}, .bisect = true});
  EXPECT_EQ(bisect_limit(wanted, now, false)->bytes, 1088 * kMiB);
  wanted = *understand({.kinds = {"pinned"}, .bisect = true});
  EXPECT_EQ(bisect_limit(wanted, now, false)->bytes, 88 * kMiB);
  now.available_bytes = 500 * kMiB;
  EXPECT_THAT(bisect_limit(wanted, now, false).error().message,
              HasSubstr("MemAvailable less free CMA is 500MiB"));
}

TEST(BisectLimit, IsRefusedWithoutRoom) {
  WantedProbes wanted;
  wanted.frame_bytes = 12 * kMiB;
  GateInputs now;
  EXPECT_THAT(bisect_limit(wanted, now, false).error().message, HasSubstr("is not known"));
  for (const std::uint64_t available : {0U, 512U, 523U}) {
    now.available_bytes = available * kMiB;
    EXPECT_FALSE(bisect_limit(wanted, now, false)) << available;
    EXPECT_FALSE(bisect_limit(wanted, now, true)) << "how far is not said";
  }
  now.available_bytes = 524 * kMiB;
  EXPECT_TRUE(bisect_limit(wanted, now, false));
  now.available_bytes.reset();
  wanted.limit = 64 * kMiB;
  EXPECT_EQ(bisect_limit(wanted, now, true)->bytes, 64 * kMiB);
}

}  // namespace
}  // namespace jetmem
