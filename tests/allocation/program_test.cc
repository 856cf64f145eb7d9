// SPDX-License-Identifier: Apache-2.0
// Lines of a program are taken without asking the heap for memory.
#include <gtest/gtest.h>

#include "daemon/children/tegrastats_program.h"
#include "tests/bench/count_malloc.h"
#include "tests/daemon/running_program.h"

namespace jetmem {
namespace {

using ProgramAllocation = ProgramRunning;

TEST_F(ProgramAllocation, NoneForALine) {
  Settings settings;
  settings.tegrastats.program = script(
      "while :; do echo 'RAM 2448/7620MB (lfb 12x4MB) CPU [2%@729,off] GR3D_FREQ 0%'; sleep 0.2; "
      "done");
  settings.sources.push_back({"tegrastats", true, std::chrono::milliseconds(100)});
  int lines = 0;
  std::size_t bytes = 0;
  TegrastatsProgram program(
      {clock, spawner, log, [&](std::string_view, Result<const Snapshot*> snapshot, Nanoseconds) {
         if (!snapshot) return;
         ++lines;
         bytes += (**snapshot)[0].text.size();
       }});
  ASSERT_TRUE(program.start(loop));
  program.apply(settings);
  program.due();
  int needed = 3;
  const std::function<bool()> taken = [&] {
    SampleWriter out(table, section, clock.boot());
    program.write(out);
    return lines >= needed;
  };
  ASSERT_TRUE(run_until(taken));
  needed = 13;
  const unsigned long before = allocations_of_this_thread();
  ASSERT_TRUE(run_until(taken));
  EXPECT_EQ(allocations_of_this_thread() - before, 0U);
  EXPECT_GT(bytes, 13U * 50);
  program.stop();
}

}  // namespace
}  // namespace jetmem
