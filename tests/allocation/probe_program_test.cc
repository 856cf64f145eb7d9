// SPDX-License-Identifier: Apache-2.0
// A probe each few minutes may allocate for its result; what is shown of it each second may not.
#include "daemon/probe/probe_program.h"

#include "daemon/probe/probe_stats.h"
#include "tests/bench/count_malloc.h"
#include "tests/daemon/running_program.h"

namespace jetmem {
namespace {

using ProbeAllocation = ProgramRunning;

TEST_F(ProbeAllocation, NoneForWhatIsShownEachRound) {
  ProbeProgram program({clock,
                        spawner,
                        log,
                        [](std::string_view, Result<const Snapshot*>, Nanoseconds) {},
                        nullptr,
                        {{}, {}, [] { return std::uint64_t{7}; }},
                        {},
                        directory},
                       {});
  ASSERT_TRUE(program.start(loop));
  program.apply({});
  ProbeStats probe_stats;
  for (const ProbeState state : {ProbeState::kOk, ProbeState::kFailed, ProbeState::kSkipped}) {
    ProbeRun::Probe probe;
    probe.kind = "dmabuf";
    probe.target = "a heap with a name longer than short strings are";
    probe.state = state;
    probe.error = "an error with a name longer than short strings are";
    probe.size_steps.emplace_back().mismatches = 0;
    ASSERT_TRUE(probe_stats.result(probe, clock.boot()));
  }
  const auto write = [&] {
    SampleWriter out(table, section, clock.boot());
    program.write(out);
    probe_stats.write(out, clock.boot());
  };
  program.due();
  run_for(1);
  write();
  write();
  const auto before = allocations_of_this_thread();
  for (int i = 0; i < 100; ++i) write();
  EXPECT_EQ(allocations_of_this_thread() - before, 0U);
  EXPECT_EQ(table.value_of("jetmem_probe_side_effects_total"), 7);
  program.stop();
}

}  // namespace
}  // namespace jetmem
