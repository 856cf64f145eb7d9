// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/pids.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

TEST(Pids, TheKernelCountsThoseThatAreHidden) {
  const Root root = Root::live();
  Snapshot snapshot;
  const ReadLimits limits{.files = 16, .names = 65536};
  Gatherer files(root, snapshot, limits);
  std::vector<std::string> names;
  ASSERT_EQ(files.list("/proc", names), 0);
  keep_pids(names);
  const auto all = hidden_processes(files, 0);
  if (!all) GTEST_SKIP() << "this /proc does not count its processes";
  // Some may have ended since.
  EXPECT_GE(*all + 20, names.size());
  if (!hides_processes(root, names)) {
    EXPECT_LE(*all, names.size() + 20);
  }
  EXPECT_EQ(hidden_processes(files, *all + 1000), 0U);
}

}  // namespace
}  // namespace jetmem
