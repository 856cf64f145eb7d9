// SPDX-License-Identifier: Apache-2.0
#include "collectors/cma/gather.h"

#include <gtest/gtest.h>

#include "base/root/gatherer.h"
#include "collectors/cma/map.h"
#include "collectors/cma/source.h"
#include "tests/collectors/cma/cma_kernel.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

class CmaGathering : public testing::Test {
 protected:
  void SetUp() override { kernel_.add_area("reserved", 0x1000, 400); }

  void allocate(std::uint64_t at) {
    kernel_.set(0, at, 10, true);
    kernel_.trace_alloc({412, "camera", 0}, 0, at, 10, "vb2_dc_alloc");
  }

  // What a reading has, in a reader's process.
  CmaTrace& gather() {
    Snapshot files;
    kernel_.render(files, true, true);
    for (std::size_t i = 0; i < files.size(); ++i) {
      const FileText file = files[i];
      if (!file.path.starts_with(kCmaAfter)) {
        tree_.write(std::string(file.path.substr(1)), std::string(file.text));
      }
    }
    tree_.write("proc/412/status", "Name:\tcamera\nTgid:\t412\n");
    snapshot_.clear();
    const Root root = *Root::at(tree_.path());
    Gatherer gatherer(root, snapshot_, CmaMapSource::kInfo.limits, &remembered_);
    gather_cma_map(gatherer);
    for (const char* leaf : {"options/pause-on-trace", "trace_clock"}) {
      const std::string path = std::string(kCmaTraceInstance) + "/" + leaf;
      if (!snapshot_.text_of(path)) snapshot_.add(path, *files.text_of(path), 0);
    }
    const auto parsed = parse_cma_trace(snapshot_, trace_);
    EXPECT_TRUE(parsed) << parsed.error().message;
    return trace_;
  }

  TempDir tree_;
  CmaKernel kernel_{CmaFormat::k61, 2, 64};
  std::vector<std::string> remembered_;
  Snapshot snapshot_;
  CmaTrace trace_;
  CmaMapper mapper_;
  CmaMap map_;
};

TEST_F(CmaGathering, ATextThatStaysTheSameIsLeftOut) {
  allocate(0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(gather().is_unchanged) << i;
    mapper_.take(trace_, map_);
  }
  const CmaMap known = map_;
  ASSERT_EQ(known.areas.at(0).taken_pieces, 1U);
  int read = 0;
  for (int i = 0; i < 40; ++i) {
    if (!gather().is_unchanged) ++read;
    // Who allocated may have ended meanwhile.
    EXPECT_EQ(trace_.tasks.size(), 1U);
    mapper_.take(trace_, map_);
    EXPECT_EQ(map_, known) << i;
  }
  EXPECT_EQ(read, 1);
  allocate(20);
  EXPECT_FALSE(gather().is_unchanged);
  mapper_.take(trace_, map_);
  EXPECT_EQ(map_.areas.at(0).taken_pieces, 2U);
  EXPECT_EQ(map_.losses, known.losses);
}

// Answers that never came: then the map is unknown, not old.
TEST_F(CmaGathering, AReadingThatWasLostIsNotTakenForNothing) {
  allocate(0);
  for (int i = 0; i < 3; ++i) mapper_.take(gather(), map_);
  allocate(20);
  for (int i = 0; i < 2; ++i) gather();
  const std::uint64_t losses = map_.losses;
  EXPECT_TRUE(gather().is_unchanged);
  mapper_.take(trace_, map_);
  EXPECT_EQ(map_.losses, losses + 1);
  EXPECT_EQ(map_.areas.at(0).known_pages(), 0U);
}

}  // namespace
}  // namespace jetmem
