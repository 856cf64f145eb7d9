// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/collectors/kernel_log/cut_lines.h"

namespace jetmem::kernel_log {
namespace {

TEST(Oom, Invoked) {
  EXPECT_EQ(one("a:b invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=3, oom_score_adj=-5"),
            "oom_invoked comm=a:b gfp=0xcc0 order=3 oom_score_adj=-5");
  EXPECT_EQ(one("ls invoked oom-killer: gfp_mask=0x24(GFP_A), nodemask=0-1,3, order=0, "
                "oom_score_adj=0"),
            "oom_invoked comm=ls gfp=0x24 nodemask=0-1,3 order=0 oom_score_adj=0");
  EXPECT_EQ(one("ls invoked oom-killer: gfp_mask=0x24(A), nodemask=(null),  order=1, "
                "oom_score_adj=0"),
            "oom_invoked comm=ls gfp=0x24 nodemask=(null) order=1 oom_score_adj=0");
  EXPECT_EQ(one("ls invoked oom-killer: gfp_mask=0xd0, order=0, oom_adj=0"),
            "oom_invoked comm=ls gfp=0xd0 order=0");
}

// The backtrace below says for what: nvmap of L4T 36 as a module, built in, and of an old kernel.
TEST(Oom, InvokedForNvmap) {
  const std::string head =
      "big invoked oom-killer: gfp_mask=0x2dc2(GFP_KERNEL), order=0, oom_score_adj=0\n";
  const std::string event = "oom_invoked comm=big gfp=0x2dc2 order=0 oom_score_adj=0";
  EXPECT_EQ(one(head + "Call trace:\n __alloc_pages+0x75c/0xd74\n"
                       " nvmap_alloc_pages_exact+0x50/0xd0 [nvmap]\n"
                       " nvmap_alloc_handle+0x908/0xfa0 [nvmap]\n"
                       " nvmap_ioctl_alloc+0x150/0x1e0 [nvmap]\nMem-Info:\n"
                       " slab_reclaimable:424 slab_unreclaimable:1712"),
            event + " allocator=nvmap slab_unreclaimable_pages=1712");
  EXPECT_EQ(one(head + " nvmap_ioctl_alloc+0x150/0x1e0"), event + " allocator=nvmap");
  EXPECT_EQ(one(head + "[<ffffff80083c9a28>] nvmap_alloc_handle+0x908/0xfa0"),
            event + " allocator=nvmap");
  EXPECT_EQ(one(head + " my_nvmap_alloc_handle+0x908/0xfa0"), event);
  EXPECT_EQ(one(" nvmap_alloc_handle+0x908/0xfa0 [nvmap]"), "");
}

TEST(Oom, InvokedBySysrqIsNoEvent) {
  EXPECT_EQ(one("kworker/1:1 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=-1, "
                "oom_score_adj=0"),
            "");
}

TEST(Oom, KillInTwoLinesIsOneEventAndTheVictimIsInTheSecond) {
  EXPECT_EQ(one("Out of memory: Kill process 12 (sh (x)) score 90 or sacrifice child\n"
                "Killed process 13 (a) total-vm (b) total-vm:70kB, anon-rss:60kB, file-rss:5kB"),
            "oom_kill chosen_pid=12 pid=13 comm=a) total-vm (b memcg=false total_vm_kb=70 "
            "anon_rss_kb=60 file_rss_kb=5");
}

TEST(Oom, TheScoreIsOfTheVictimOnly) {
  EXPECT_EQ(one("Out of memory: Kill process 12 (sh) score 90 or sacrifice child\n"
                "Killed process 12 (sh) total-vm:70kB, anon-rss:60kB, file-rss:5kB"),
            "oom_kill pid=12 comm=sh score=90 memcg=false total_vm_kb=70 anon_rss_kb=60 "
            "file_rss_kb=5");
}

TEST(Oom, AHalfOfATwoLineKillStillCounts) {
  EXPECT_EQ(one("Out of memory: Kill process 12 (sh) score 90 or sacrifice child"),
            "oom_kill pid=12 comm=sh score=90 memcg=false");
  EXPECT_EQ(one("Killed process 13 (sh) total-vm:70kB, anon-rss:60kB, file-rss:5kB, "
                "shmem-rss:1kB"),
            "oom_kill pid=13 comm=sh total_vm_kb=70 anon_rss_kb=60 file_rss_kb=5 shmem_rss_kb=1");
}

TEST(Oom, KillInOneLine) {
  EXPECT_EQ(one("Out of memory: Killed process 9 (py) total-vm:900kB, anon-rss:800kB, "
                "file-rss:7kB, shmem-rss:6kB, UID:1000 pgtables:50kB oom_score_adj:-300"),
            "oom_kill pid=9 comm=py total_vm_kb=900 anon_rss_kb=800 file_rss_kb=7 shmem_rss_kb=6 "
            "pgtables_kb=50 uid=1000 oom_score_adj=-300 memcg=false");
  EXPECT_EQ(one("Out of memory (oom_kill_allocating_task): Killed process 9 (py) total-vm:9kB, "
                "anon-rss:8kB"),
            "oom_kill pid=9 comm=py total_vm_kb=9 anon_rss_kb=8 memcg=false");
}

TEST(Oom, RedHatPlacesTheUserElsewhere) {
  EXPECT_EQ(one("Killed process 9, UID 48, (httpd) total-vm:9kB, anon-rss:8kB, file-rss:1kB"),
            "oom_kill pid=9 comm=httpd total_vm_kb=9 anon_rss_kb=8 file_rss_kb=1 uid=48");
  EXPECT_EQ(one("Killed process 9 (httpd), UID 48, total-vm:9kB, anon-rss:8kB, file-rss:1kB"),
            "oom_kill pid=9 comm=httpd total_vm_kb=9 anon_rss_kb=8 file_rss_kb=1 uid=48");
}

TEST(Oom, KillForAControlGroup) {
  EXPECT_EQ(one("Memory cgroup out of memory: Killed process 9 (dd) total-vm:9kB, anon-rss:8kB, "
                "file-rss:0kB, shmem-rss:0kB, UID:-2 pgtables:4kB oom_score_adj:0"),
            "oom_kill_memcg pid=9 comm=dd total_vm_kb=9 anon_rss_kb=8 file_rss_kb=0 "
            "shmem_rss_kb=0 pgtables_kb=4 uid=-2 oom_score_adj=0 memcg=true");
  const auto events = events_of(
      "Memory cgroup out of memory: Kill process 9 (dd) score 5 or sacrifice child\n"
      "Killed process 9 (dd) total-vm:9kB, anon-rss:8kB, file-rss:0kB");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind(), EventKind::kOomKillMemcg);
  EXPECT_EQ(events[0].line, 1U);
  EXPECT_EQ(events[0].number("total_vm_kb"), 9);
}

TEST(Oom, ANumberThatIsCutOffIsLeftOut) {
  EXPECT_EQ(one("Out of memory: Killed process 9 (py) total-vm:900kB, anon-rss:80"),
            "oom_kill pid=9 comm=py total_vm_kb=900 memcg=false");
  EXPECT_EQ(one("Out of memory: Killed process 9 (py) total-vm:90"), "");
  EXPECT_EQ(one("Out of memory: Killed process x (py) total-vm:90kB, anon-rss:8kB"), "");
  EXPECT_EQ(one("Out of memory: Killed process 9"), "");
}

TEST(Oom, Info) {
  EXPECT_EQ(one("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=a,b,mems_allowed=0-1,3,"
                "global_oom,task_memcg=/s/x,y,task=q, r,pid=5,uid=-1"),
            "oom_kill_info constraint=NONE nodemask=(null) cpuset=a,b mems_allowed=0-1,3 comm=q, r "
            "pid=5 uid=-1 global=true task_memcg=/s/x,y");
  EXPECT_EQ(one("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,"
                "oom_memcg=/s,task_memcg=/s/x,task=q,pid=5,uid=0"),
            "oom_kill_info constraint=NONE nodemask=(null) cpuset=/ mems_allowed=0 comm=q pid=5 "
            "uid=0 global=false oom_memcg=/s task_memcg=/s/x");
  EXPECT_EQ(one("oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=0,cpuset=c,mems_allowed=0,task=q,"
                "pid=5,uid=0"),
            "oom_kill_info constraint=CPUSET nodemask=0 cpuset=c mems_allowed=0 comm=q pid=5 "
            "uid=0");
  EXPECT_EQ(one("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,"
                "global_oom,task_memcg=/s,task=a,task=init,pid=5,uid=0"),
            "oom_kill_info constraint=NONE nodemask=(null) cpuset=/ mems_allowed=0 "
            "comm=a,task=init pid=5 uid=0 global=true task_memcg=/s");
  EXPECT_EQ(one("Task in /s/x killed as a result of limit of /s"),
            "oom_kill_info global=false task_memcg=/s/x oom_memcg=/s");
}

TEST(Oom, APathThatIsCutOffIsLeftOut) {
  constexpr std::string_view kHead =
      "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0";
  constexpr std::string_view kFields = "oom_kill_info constraint=MEMCG nodemask=(null) cpuset=/";
  EXPECT_EQ(one(std::string(kHead)), kFields);
  EXPECT_EQ(one(std::string(kHead) + ",oom_memcg=/syst"),
            std::string(kFields) + " mems_allowed=0 global=false");
  EXPECT_EQ(one(std::string(kHead) + ",oom_memcg=/system,task_memcg=/sys"),
            std::string(kFields) + " mems_allowed=0 global=false oom_memcg=/system");
}

TEST(Oom, Reaper) {
  EXPECT_EQ(one("oom_reaper: reaped process 9 (a (b)), now anon-rss:0kB, file-rss:0kB, "
                "shmem-rss:4kB"),
            "oom_reaper pid=9 comm=a (b) reaped=true anon_rss_kb=0 file_rss_kb=0 shmem_rss_kb=4");
  EXPECT_EQ(one("oom_reaper: unable to reap pid:9 (a)"), "oom_reaper pid=9 comm=a reaped=false");
}

TEST(Oom, NoVictim) {
  EXPECT_EQ(one("Out of memory and no killable processes...\n"
                "Kernel panic - not syncing: System is deadlocked on memory\n"
                "---[ end Kernel panic - not syncing: System is deadlocked on memory ]---"),
            "oom_no_victim panic=true deadlocked=true");
  EXPECT_EQ(one("Kernel panic - not syncing: Out of memory and no killable processes..."),
            "oom_no_victim panic=true");
  EXPECT_EQ(one("Out of memory and no killable processes..."), "oom_no_victim");
}

TEST(Oom, TheRestOfTheReportIsNoEvent) {
  EXPECT_EQ(one("OOM killer disabled.\nOOM killer enabled.\nMem-Info:\n"
                "[    812]  1000   812   100050    75250   663552        0             0 trainer\n"
                "Tasks state (memory values in pages):\nOut of memory: \n"
                "memory: usage 102400kB, limit 102400kB, failcnt 51"),
            "");
}

TEST(Oom, InWords) {
  EXPECT_EQ(sentence_of("Out of memory: Killed process 9 (py) total-vm:9000000kB, "
                        "anon-rss:2202010kB, file-rss:7kB, shmem-rss:1048576kB, UID:0"),
            "py (PID 9) was killed: the machine was out of memory; it held 2.1 GiB of its own and "
            "1.0 GiB shared");
  EXPECT_EQ(sentence_of("oom_reaper: unable to reap pid:9 (a)"),
            "the memory of the killed a (PID 9) could not be taken back");
}

TEST(KernelLogOom, WhatIsNoTasksNameIsNoEvent) {
  const std::string rest = "foo invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=1, adj=0";
  EXPECT_EQ(decoded(rest), "oom_invoked comm=foo gfp=0xcc0 order=1\n");
  for (const std::string_view before :
       {"| ", "[1] ", "<4>", "18:53:02 ", "2026-11-20 ", "Nov 20 ", "W: ", "\xc2\xa0",
        "usb 1-1: Product: ", "kubelet: I1120 18:53:02 1 log.go:1] ", "# "}) {
    EXPECT_EQ(decoded(std::string(before) + rest), "") << before;
  }
  // Names that there are.
  for (const std::string_view comm :
       {"kworker/u8:7", "(sd-pam)", "Web Content", "3d-viewer 1", "caf\\xc3\\xa9-of-12-by"}) {
    EXPECT_NE(decoded(std::string(comm) + rest.substr(3)), "") << comm;
  }
  EXPECT_EQ(decoded("Out of memory: Killed process 5 (longer-than-16-b) total-vm:4kB, "
                    "anon-rss:1kB, file-rss:1kB"),
            "");
}

TEST(KernelLogOom, WhatACutLineLostIsAbsent) {
  EXPECT_EQ(decoded("foo invoked oom-killer: gfp_mask=0x1100cc"), "oom_invoked comm=foo\n");
  EXPECT_EQ(decoded("oom-kill:constraint=CONSTRAINT_MEMC"), "oom_kill_info \n");
  EXPECT_EQ(sentence_of("oom-kill:constraint=CONSTRAINT_MEMC"), "the OOM killer acted");
}

TEST(KernelLogOom, ANumberThatDoesNotFitIsAbsent) {
  EXPECT_EQ(decoded("Killed process 5 (foo) total-vm:99999999999999999999kB, anon-rss:7kB, "
                    "file-rss:1kB"),
            "oom_kill pid=5 comm=foo anon_rss_kb=7 file_rss_kb=1\n");
}

}  // namespace
}  // namespace jetmem::kernel_log
