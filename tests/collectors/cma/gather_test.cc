// SPDX-License-Identifier: Apache-2.0
#include "collectors/cma/gather.h"

#include <gtest/gtest.h>

#include <filesystem>

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
  CmaTrace& gather(bool is_readable = true) {
    Snapshot files;
    kernel_.render(files, true, true);
    for (std::size_t i = 0; i < files.size(); ++i) {
      const FileText file = files[i];
      if (!file.path.starts_with(kCmaAfter) && (is_readable || !file.path.ends_with("/trace"))) {
        tree_.write(std::string(file.path.substr(1)), std::string(file.text));
      }
    }
    if (has_thread_) {
      tree_.write("proc/412/status",
                  std::string("Name:\tcamera\nTgid:\t") + (is_thread_ ? "400\n" : "412\n"));
    }
    snapshot_.clear();
    const Root root = *Root::at(tree_.path());
    Gatherer gatherer(root, snapshot_, CmaMapSource::kInfo.limits, &remembered_);
    gather_cma_map(gatherer);
    for (const char* leaf : {"options/pause-on-trace", "trace_clock"}) {
      const std::string path = std::string(kCmaTraceInstance) + "/" + leaf;
      if (!snapshot_.text_of(path)) snapshot_.add(path, *files.text_of(path), 0);
    }
    const auto parsed = parse_cma_trace(snapshot_, trace_);
    EXPECT_EQ(parsed.has_value(), is_readable || trace_.is_unchanged);
    return trace_;
  }

  TempDir tree_;
  bool has_thread_ = true;
  bool is_thread_ = false;  // of process 400
  CmaKernel kernel_{CmaFormat::k61, 2, 64};
  std::vector<std::string> remembered_;
  Snapshot snapshot_;
  CmaTrace trace_;
  CmaMapper mapper_;
  CmaMap map_;
};

TEST_F(CmaGathering, ATextThatStaysTheSameIsOmitted) {
  allocate(0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(gather().is_unchanged) << i;
    EXPECT_TRUE(mapper_.take(trace_, map_));
  }
  const CmaMap known = map_;
  ASSERT_EQ(known.areas.at(0).taken_pieces, 1U);
  int read = 0;
  for (int i = 0; i < 40; ++i) {
    if (!gather().is_unchanged) ++read;
    // Who allocated may have ended meanwhile.
    EXPECT_EQ(trace_.tasks.size(), 1U);
    EXPECT_TRUE(mapper_.take(trace_, map_));
    EXPECT_EQ(map_, known) << i;
  }
  EXPECT_EQ(read, 5);
  allocate(20);
  EXPECT_FALSE(gather().is_unchanged);
  EXPECT_TRUE(mapper_.take(trace_, map_));
  EXPECT_EQ(map_.areas.at(0).taken_pieces, 2U);
  EXPECT_EQ(map_.losses, known.losses);
}

// Answers that never came: nothing is said until the text comes again, and then nothing is lost.
TEST_F(CmaGathering, AReadingThatWasLostIsNotTakenForNothing) {
  allocate(0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(mapper_.take(gather(), map_));
  const CmaMap known = map_;
  allocate(20);
  for (int i = 0; i < 2; ++i) gather();
  while (gather().is_unchanged) {
    EXPECT_FALSE(mapper_.take(trace_, map_));
    EXPECT_EQ(map_, known);
  }
  EXPECT_TRUE(mapper_.take(trace_, map_));
  EXPECT_EQ(map_.areas.at(0).taken_pieces, 2U);
  EXPECT_EQ(map_.losses, known.losses);
}

// The end of a thread is not that of its process, and that of the process is seen behind it.
TEST_F(CmaGathering, AThreadThatEndsBeforeItsProcess) {
  allocate(0);
  tree_.write("proc/400/stat", "400 (camera) S");
  tree_.write("proc/400/comm", "camera\n");
  is_thread_ = true;
  const auto ended = [&] {
    EXPECT_TRUE(mapper_.take(gather(), map_));
    return map_.owners.at(0).has_ended;
  };
  EXPECT_FALSE(ended());
  const std::filesystem::path proc = std::filesystem::path(tree_.path()) / "proc";
  std::filesystem::remove_all(proc / "412");
  has_thread_ = false;
  map_.owners.at(0).pid = 400;
  EXPECT_FALSE(ended());
  std::filesystem::remove_all(proc / "400");
  EXPECT_TRUE(ended());
}

TEST_F(CmaGathering, ATraceThatCannotBeReadIsSaidEachTime) {
  allocate(0);
  for (int i = 0; i < 3; ++i) gather();
  const std::string trace = std::string(kCmaTraceInstance).substr(1) + "/trace";
  ASSERT_TRUE(std::filesystem::remove(std::filesystem::path(tree_.path()) / trace));
  tree_.write(trace + "/is_a_folder", "");
  while (gather(false).is_unchanged) {
  }
  for (int i = 0; i < 5; ++i) {
    gather(false);
    EXPECT_FALSE(parse_cma_trace(snapshot_, trace_)) << i;
  }
}

}  // namespace
}  // namespace jetmem
