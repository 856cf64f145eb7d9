// SPDX-License-Identifier: Apache-2.0
// What is shown of programs each second allocates nothing, nor does a line that one prints. To
// notify and to take a probe's result may.
#include "daemon/alerts/notifier.h"
#include "daemon/children/tegrastats_program.h"
#include "daemon/probe/probe_program.h"
#include "daemon/probe/probe_stats.h"
#include "tests/allocation/allocations.h"
#include "tests/daemon/running_program.h"

namespace jetmem {
namespace {

struct ProgramAllocation : ProgramRunning {
  template <class Write>
  static void expect_none_in_100(const Write& write) {
    EXPECT_EQ(allocations_in([&] {
                for (int i = 0; i < 100; ++i) write();
              }),
              0U);
  }
};

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
  EXPECT_EQ(allocations_in([&] { ASSERT_TRUE(run_until(taken)); }), 0U);
  EXPECT_GT(bytes, 13U * 50);
  program.stop();
}

TEST_F(ProgramAllocation, NoneForWhatIsShownOfNotifications) {
  AlertsSettings settings;
  settings.program = script("exit 1");
  Notifier hook(clock, spawner, log);
  ASSERT_TRUE(hook.start(loop));
  hook.apply(settings);
  AlertNotification notification;
  notification.alert = "JetmemBuddyFragmented, with a name longer than short strings are";
  notification.severity = "critical";
  for (std::size_t i = 0; i < Notifier::kPerWindow + 3; ++i) {
    notification.labels = {{"n", std::to_string(i)}};
    hook.notify(notification);
  }
  const auto write = [&] {
    SampleWriter out(table, section, clock.boot());
    hook.write(out);
  };
  ASSERT_TRUE(run_until([&] {
    write();
    return table.value_of("jetmem_notifications_total{result=\"failed\"}") == Notifier::kPerWindow;
  }));
  write();
  expect_none_in_100(write);
  EXPECT_EQ(table.value_of("jetmem_notification_queue_length"), 3);
}

TEST_F(ProgramAllocation, NoneForWhatIsShownOfProbes) {
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
  expect_none_in_100(write);
  EXPECT_EQ(table.value_of("jetmem_probe_side_effects_total"), 7);
  program.stop();
}

}  // namespace
}  // namespace jetmem
