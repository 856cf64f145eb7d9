// SPDX-License-Identifier: Apache-2.0
#include "tests/collectors/kernel_log/cut_lines.h"

namespace jetmem::kernel_log {
namespace {

TEST(KernelLogStall, HungTask) {
  EXPECT_EQ(decoded("INFO: task kworker/u9:3:311 blocked for more than 241 seconds."),
            "hung_task comm=kworker/u9:3 pid=311 seconds=241\n");
  EXPECT_EQ(decoded("INFO: task dd:4021 blocked in I/O wait for more than 122 seconds."),
            "hung_task comm=dd pid=4021 seconds=122 io_wait=true\n");
}

TEST(KernelLogStall, WhatAHungTaskWaitsFor) {
  EXPECT_EQ(decoded("INFO: task a:11 blocked for more than 120 seconds.\n"
                    "INFO: task b:12 blocked for more than 120 seconds.\n"
                    "INFO: task a:11 is blocked on a mutex likely owned by task my:app:99.\n"
                    "INFO: task b:12 is blocked on an rw-semaphore likely owned by task c:8 "
                    "<reader>\n"),
            "hung_task comm=a pid=11 seconds=120 lock=mutex owner_comm=my:app owner_pid=99\n"
            "hung_task comm=b pid=12 seconds=120 lock=rw-semaphore owner_comm=c owner_pid=8\n");
  EXPECT_EQ(decoded("INFO: task a:11 is blocked on a mutex likely owned by task app:99."), "");
  EXPECT_EQ(decoded("INFO: task a:11 blocked for more than 120 seconds.\n"
                    "INFO: task a:11 is blocked on a mutex, but the owner is not found.\n"),
            "hung_task comm=a pid=11 seconds=120 lock=mutex\n");
}

TEST(KernelLogStall, SoftLockup) {
  EXPECT_EQ(decoded("watchdog: BUG: soft lockup - CPU#1 stuck for 23s! [kworker/1:0:15]"),
            "soft_lockup cpu=1 seconds=23 comm=kworker/1:0 pid=15\n");
  EXPECT_EQ(decoded("NMI watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [swa"),
            "soft_lockup cpu=0 seconds=22\n");
  EXPECT_EQ(decoded("BUG: soft lockup - CPU#0 stuck for 22s! [swapper:1]"),
            "soft_lockup cpu=0 seconds=22 comm=swapper pid=1\n");
}

TEST(KernelLogStall, HardLockup) {
  EXPECT_EQ(decoded("NMI watchdog: Watchdog detected hard LOCKUP on cpu 7"), "hard_lockup cpu=7\n");
  EXPECT_EQ(decoded("watchdog: CPU2: Watchdog detected hard LOCKUP on cpu 2"),
            "hard_lockup cpu=2\n");
  EXPECT_EQ(decoded("Watchdog detected hard LOCKUP on cpu 0"), "hard_lockup cpu=0\n");
}

TEST(KernelLogStall, RcuStallWithItsCpus) {
  EXPECT_EQ(decoded("rcu: INFO: rcu_sched detected stalls on CPUs/tasks:\n"
                    "rcu: \t4-...0: (1 GPs behind) idle=1d2/1/0x4000000000000002 softirq=5/6\n"
                    "rcu: \t5-....: (20999 ticks this GP) idle=1d2/1/0x4000000000000002\n"
                    "rcu: \t(detected by 0, t=21003 jiffies, g=77, q=5)\n"),
            "rcu_stall flavour=rcu_sched cpus=[4,5] jiffies=21003\n");
  EXPECT_EQ(decoded("rcu: INFO: rcu_preempt self-detected stall on CPU\n"
                    "rcu: \t(t=5250 jiffies g=900 q=33 ncpus=6)\n"),
            "rcu_stall flavour=rcu_preempt jiffies=5250\n");
}

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

TEST(KernelLogStall, OopsWithItsTask) {
  const std::string bug =
      "kernel BUG at ../mm/vmalloc.c:1621!\n"
      "Internal error: Oops - BUG: 0 [#2] PREEMPT SMP\n"
      "Modules linked in: lima\n";
  const std::string known = "kernel_oops error=BUG where=../mm/vmalloc.c:1621";
  EXPECT_EQ(one(bug + "CPU: 3 PID: 1719 Comm: kmscube Tainted: G      D          4.16.0 #834\n"),
            known + " cpu=3 pid=1719 comm=kmscube");
  EXPECT_EQ(one(bug + "CPU: 3 UID: 0 PID: 1719 Comm: a b Not tainted 6.12.0 #1\n"),
            known + " cpu=3 pid=1719 comm=a b");
  EXPECT_EQ(one("CPU: 3 PID: 1719 Comm: kmscube Tainted: G      D          4.16.0 #834\n"), "");
}

TEST(KernelLogStall, OtherRcuStalls) {
  EXPECT_EQ(
      decoded("INFO: rcu_sched self-detected stall on CPU { 2}  (t=5251 jiffies g=8 c=7 q=5)"),
      "rcu_stall flavour=rcu_sched jiffies=5251\n");
  EXPECT_EQ(decoded("rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 3-... } 21 "
                    "jiffies s: 5 root: 0x8/."),
            "rcu_stall flavour=rcu_preempt expedited=true\n");
}

TEST(KernelLogStall, HarmlessAndGarbled) {
  EXPECT_EQ(decoded("rcu: Hierarchical SRCU implementation.\n"
                    "rcu: \tRCU restricting CPUs from NR_CPUS=256 to nr_cpu_ids=6.\n"
                    "rcu: \t4-...0: (1 GPs behind) idle=1d2/1/0x4000000000000002\n"
                    "rcu: INFO: rcu_preempt is well\n"
                    "INFO: lockdep is turned off.\n"
                    "INFO: task dd:x blocked for more than 120 seconds.\n"
                    "INFO: task dd:4 blocked for more than many seconds.\n"
                    "INFO: task :4 blocked for more than 120 seconds.\n"
                    "watchdog: BUG: soft lockup - CPU#x stuck for 23s! [dd:15]\n"
                    "watchdog: BUG: soft lockup - CPU#1 stuck for ages! [dd:15]\n"
                    "watchdog: Delayed init of the lockup detector failed: -19\n"
                    "Watchdog detected hard LOCKUP on cpu x\n"),
            "");
}

TEST(KernelLogStall, Sentences) {
  EXPECT_EQ(sentence_of("INFO: task dd:4021 blocked in I/O wait for more than 122 seconds."),
            "dd (PID 4021) has been stuck in the kernel for more than 122 seconds, waiting for "
            "storage");
  EXPECT_EQ(sentence_of("watchdog: BUG: soft lockup - CPU#1 stuck for 23s! [app:15]"),
            "CPU 1 ran nothing else for 23 seconds, busy in the kernel with app (PID 15)");
  EXPECT_EQ(sentence_of("Watchdog detected hard LOCKUP on cpu 0"),
            "CPU 0 hangs and takes no interrupts");
  EXPECT_EQ(sentence_of("rcu: INFO: rcu_preempt self-detected stall on CPU\n"
                        "rcu: \t1-....: (5249 ticks this GP) idle=0a4c\n"
                        "rcu: \t(t=5250 jiffies g=900 q=33)\n"),
            "the kernel waits for a CPU or task that holds up RCU (rcu_preempt), CPU 1, since 5250 "
            "jiffies");
}

TEST(KernelLogStall, CutLines) { expect_filter_agrees_on_cut_lines("stall.txt"); }

TEST(KernelLogStall, WhatACutLineLostIsAbsent) {
  EXPECT_EQ(decoded("INFO: task dd:81 blocked for more than 12"), "hung_task comm=dd pid=81\n");
  EXPECT_EQ(sentence_of("INFO: task dd:81 blocked for more than 12"),
            "dd (PID 81) has been stuck in the kernel");
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
