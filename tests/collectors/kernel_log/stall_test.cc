// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

TEST(KernelLogStall, RcuStallWithTheTaskThatRuns) {
  const std::string head =
      "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n"
      "rcu: \t0-...0: (1 GPs behind) idle=2b4/1/0x4000000000000000 softirq=1/2 fqs=5250\n"
      "rcu: \t(detected by 3, t=5252 jiffies, g=2309, q=148)\n";
  const std::string known = "rcu_stall flavour=rcu_preempt cpus=[0] jiffies=5252";
  EXPECT_EQ(one(head + "Task dump for CPU 0:\n"
                       "task:cuda-EvtHandlr  state:R  running task     stack:    0 pid: 2210 "
                       "ppid:  2001 flags:0x00000202\n"),
            known + " comm=cuda-EvtHandlr pid=2210");
  EXPECT_EQ(one(head + "Task dump for CPU 0:\n"
                       "my task         R  running task        0  2210      1 0x00000002\n"),
            known + " comm=my task pid=2210");
  const std::string cpu = " PID: 2210 Comm: dd Not tainted 5.15.148-tegra #1\n";
  EXPECT_EQ(one(head + "CPU: 0" + cpu), known + " cpu=0 pid=2210 comm=dd");
  EXPECT_EQ(one(head + "CPU: 3" + cpu), known) << "the CPU that reports it";
}

TEST(KernelLogStall, Sentences) {
  EXPECT_EQ(sentence_of("INFO: task dd:4021 blocked in I/O wait for more than 122 seconds."),
            "dd (PID 4021) has been stuck in the kernel for more than 122 seconds, waiting for "
            "storage");
  EXPECT_EQ(sentence_of("rcu: INFO: rcu_preempt self-detected stall on CPU\n"
                        "rcu: \t1-....: (5249 ticks this GP) idle=0a4c\n"
                        "rcu: \t(t=5250 jiffies g=900 q=33)\n"),
            "the kernel waits for a CPU or task that holds up RCU (rcu_preempt), CPU 1, since 5250 "
            "jiffies");
}

TEST(KernelLogStall, ManyCpusLeaveRoomForTheRest) {
  std::string text = "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:\n";
  for (int cpu = 0; cpu < 40; ++cpu) {
    text += "rcu: \t" + std::to_string(cpu) + "-...0: (1 GPs behind) idle=1\n";
  }
  const auto events = events_of(text + "rcu: \t(detected by 1, t=5252 jiffies, g=9, q=3)\n");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].number("jiffies"), 5252);
  EXPECT_EQ(events[0].boolean("list_cut"), true);
}

}  // namespace
}  // namespace jetmem::kernel_log
