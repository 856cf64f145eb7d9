// SPDX-License-Identifier: Apache-2.0
#include "tests/daemon/probe/probe_program_fixture.h"

namespace jetmem {
namespace {

TEST_F(ProbeProgramTest, ItsLineIsTheSourcesText) {
  make_and_run();
  EXPECT_EQ(error.message, "");
  ProbeRun run;
  ASSERT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  ASSERT_TRUE(parse_probe_run(text.substr(0, text.size() - 1), run));
  ASSERT_EQ(run.probes.size(), 2U);
  EXPECT_EQ(requested(),
            std::vector<std::string>{"--kinds host,dmabuf --frame 12582912 --deadline 4 "
                                     "--progress"});
  EXPECT_EQ(starts(), 1);
  EXPECT_EQ(runs("host", "ok"), 1);
  EXPECT_FALSE(is_running("memory"));
  EXPECT_TRUE(std::isnan(interval("cuda"))) << "switched off";
  EXPECT_EQ(windows, "()");
  EXPECT_EQ(log.entries.size(), 2U);
  EXPECT_TRUE(log.has("jetmem-probe runs with the daemon's own rights: connect to"));
  EXPECT_TRUE(log.has("probe, first results of memory: host ok, dmabuf ok"));
  ASSERT_TRUE(later_answered(2));
  EXPECT_EQ(log.entries.size(), 2U) << "no news";
}

TEST_F(ProbeProgramCudaTest, CudaComesAfterInAProcessOfItsOwn) {
  make_and_run(kSound, 2);
  ASSERT_EQ(requested().size(), 2U);
  EXPECT_EQ(requested()[1].rfind("--kinds pinned,managed,device,registered,pool,dmabuf_export,", 0),
            0U);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << "both hold";
  EXPECT_TRUE(tells_of("pinned"));
  EXPECT_EQ(windows, "()()") << "never both";
  ASSERT_TRUE(later_answered(3));
  run_for(100);
  EXPECT_EQ(requested().size(), 3U) << "with CUDA only each hour";
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  later(hours(1));
  EXPECT_TRUE(run_until([this] { return requested().size() == 5; }));
}

// What an alert was about is unknown meanwhile.
TEST_F(ProbeProgramCudaTest, AGroupWithoutResultIsMissing) {
  make();
  const Labels device{{"kind", "device"}, {"target", ""}};
  const Labels host{{"kind", "host"}};
  EXPECT_EQ(program->missing({}), "source probe has no result of memory");
  EXPECT_EQ(program->missing(device), "source probe has no result of cuda");
  ASSERT_TRUE(due_and_answered(1));
  EXPECT_EQ(program->missing({}), "source probe has no result of cuda");
  EXPECT_EQ(program->missing(device), "source probe has no result of cuda");
  EXPECT_EQ(program->missing(host), "");
  ASSERT_TRUE(answered(2));
  EXPECT_EQ(program->missing(device), "");
}

TEST_F(ProbeProgramCudaTest, CudaSwitchedOffWhileItRunsItIsKilled) {
  make("begin; is_cuda && sleep 100; result\n");
  program->due();
  ASSERT_TRUE(comes_to_run("cuda"));
  settings.probe.cuda = false;
  program->apply(settings);
  // The next of memory, which a reload asks for, only begins where this one is gone by then.
  ASSERT_TRUE(run_until([this] { return windows.starts_with("()()"); })) << windows;
  EXPECT_FALSE(is_running("cuda"));
  EXPECT_EQ(failures("exited") + failures("timeout"), 0);
  EXPECT_EQ(skips("cuda", "disabled"), 1);
  EXPECT_TRUE(log.has("the running probe of cuda was ended: it is disabled now"));
}

TEST_F(ProbeProgramCudaTest, WhatIsTooOldIsDropped) {
  settings.probe.cuda_interval = minutes(10);
  make_and_run(kSound, 2);
  memory(300U << 10);  // too little for CUDA only
  for (int i = 1; i <= 5; ++i) {
    ASSERT_TRUE(later_answered(2 + i));
    EXPECT_TRUE(tells_of("pinned")) << i;
  }
  later();
  EXPECT_TRUE(run_until([this] { return !tells_of("pinned") && tells_of("host"); }));
}

// ---- when it is left alone

TEST_F(ProbeProgramTest, AClosedGateIsASkipAndSaidOnce) {
  memory(10U << 10);
  make();
  program->due();
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(error.code, Errc::kSkipped);
  EXPECT_EQ(error.message, "MemAvailable minus free CMA is 10 MiB; 64 MiB is needed");
  for (int i = 0; i < 3; ++i) later();
  EXPECT_EQ(skips("memory", "low_available"), 4);
  EXPECT_EQ(starts(), 0);
  ASSERT_EQ(log.entries.size(), 1U);
  EXPECT_EQ(
      log.entries[0].message,
      "probes of memory are skipped: MemAvailable minus free CMA is 10 MiB; 64 MiB is needed");
  readings.set_valid(0, false);
  later();
  EXPECT_EQ(skips("memory", "memory_unknown"), 1);
  EXPECT_EQ(log.entries.size(), 2U) << "another reason";
  memory(4U << 20);
  later();
  ASSERT_TRUE(run_until([this] { return !text.empty(); }));
  EXPECT_TRUE(log.has("probes of memory resume after 5 skipped"));
}

TEST_F(ProbeProgramCudaTest, TooLittleForCudaIsEnoughForTheRest) {
  memory(300U << 10);
  make();
  program->due();
  ASSERT_TRUE(run_until([this] { return skips("cuda", "low_available") == 1; }));
  EXPECT_EQ(answers, 1) << "the source stays ok";
  EXPECT_EQ(error.message, "");
  EXPECT_EQ(starts(), 1);
  // Not an hour later but as soon as it can be.
  memory(4U << 20);
  ASSERT_TRUE(later_answered(3));
  EXPECT_EQ(starts(), 3);
  // What should be known and is not holds it too.
  others = SourceState::kFailed;
  later(hours(1));
  EXPECT_TRUE(run_until([this] { return skips("cuda", "throttling_unknown") == 1; }));
}

// Without the socket it is charged to the daemon.
TEST_F(ProbeProgramTest, ABootIsLeftAlone) {
  options.schedule.first_memory = milliseconds(300);
  make();
  program->due();
  run_for(150);
  EXPECT_EQ(starts(), 0);
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(starts(), 1);
}

TEST_F(ProbeProgramTest, WithinItsOwnLimitItIsNotStarted) {
  temporary.write("proc/self/cgroup", "0::/\n");
  temporary.write("sys/fs/cgroup/memory.max", "67108864\n");
  temporary.write("sys/fs/cgroup/memory.current", "4194304\n");
  make();
  program->due();
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(error.code, Errc::kSkipped);
  EXPECT_EQ(skips("memory", "cgroup_headroom"), 1);
  EXPECT_EQ(starts(), 0);
  EXPECT_EQ(windows, "");
  const UniqueFd listener = listen();
  later();
  EXPECT_EQ(starts(), 1) << "systemd's is not";
}

TEST_F(ProbeProgramTest, SwitchedOffItIsKilled) {
  // What tests before this one have left.
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  make("begin; sleep 1000\n");
  program->due();
  run_for(50);
  settings.sources[0].enabled = false;
  program->apply(settings);
  program->stop();
  ASSERT_TRUE(run_until([this] { return windows == "()"; }));
  EXPECT_EQ(answers, 0);
  EXPECT_EQ(skips("memory", "disabled"), 1);
  EXPECT_TRUE(log.has("the running probe of memory was ended"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_TRUE(std::isnan(interval("memory")));
  write_program(kSound);
  settings.sources[0].enabled = true;
  program->apply(settings);
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(error.message, "");
}

TEST_F(ProbeProgramTest, WhatTakesLongIsWorthShowingAndNoOtherIsStarted) {
  make("begin; sleep 2.5; result\n");
  program->due();
  run_for(300);
  EXPECT_EQ(program->pid(), -1);
  later();
  EXPECT_EQ(skips("memory", "previous_run_unfinished"), 1);
  EXPECT_EQ(starts(), 1) << "never two at a time";
  run_for(1900);
  EXPECT_GT(program->pid(), 0);
  ASSERT_TRUE(run_until([this] { return !text.empty(); }));
  EXPECT_EQ(program->pid(), -1);
}

// ---- what is shown, and for how long

TEST_F(ProbeProgramCudaTest, ItsAgeIsShown) {
  make("begin; [ -e $here/bad ] && exit 1; result\n");
  const auto age = [this](const std::string& group) {
    return figure("jetmem_probe_age_seconds{group=\"" + group + "\"}");
  };
  const auto since = [this] {
    return figure("jetmem_probe_since_success_seconds{kind=\"pinned\",target=\"\"}");
  };
  EXPECT_TRUE(std::isnan(age("memory")));
  ASSERT_TRUE(due_and_answered(2));
  clock.ahead += minutes(2);
  EXPECT_NEAR(age("memory"), 120, 2);
  EXPECT_NEAR(age("cuda"), 120, 2);
  EXPECT_NEAR(since(), 120, 2);
  settings.probe.cuda = false;
  program->apply(settings);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_FALSE(tells_of("pinned"));
  EXPECT_TRUE(std::isnan(age("cuda")));
  EXPECT_TRUE(std::isnan(since())) << "it cannot succeed";
  ASSERT_TRUE(answered(4));  // without CUDA's, and anew
  EXPECT_LT(age("memory"), 60);
  std::ofstream(directory + "/bad") << "x";
  ASSERT_TRUE(later_answered(5));
  EXPECT_TRUE(std::isnan(age("memory"))) << "nothing is shown";
}

// Doubled for what it makes the driver print, its results are still as old as they are.
TEST_F(ProbeProgramCudaTest, AResultIsWorthThreeOfTheIntervalsThatWereSet) {
  make("begin; is_cuda && sleep 0.2; result\n");
  for (int i = 0; i < 4; ++i) run_cuda(1);
  EXPECT_EQ(interval("cuda"), 16 * 3600);
  for (const auto& [after, has_cuda] : {std::pair(minutes(120), true), {minutes(61), false}}) {
    text.clear();
    later(after);
    ASSERT_TRUE(run_until([&] { return tells_of("host"); }));
    EXPECT_EQ(tells_of("pinned"), has_cuda) << after.count();
  }
}

// Each time other heaps: hostile, or out of its mind.
TEST_F(ProbeProgramTest, NamesWithoutEndAreGarbage) {
  // The first day begins at boot: this machine's must not end during the test.
  clock.ahead += hours(24);
  make_and_run(R"(begin
kinds=host$(printf ',dmabuf%.0s' $(seq 20))
result | awk -v run=$$ -F'"dmabuf","target":"' '{
  printf "%s", $1
  for (i = 2; i <= NF; ++i) printf "\"dmabuf\",\"target\":\"%d-%d%s", run, i, $i
  print ""
}'
)");
  EXPECT_EQ(error.message, "");
  ASSERT_TRUE(later_answered(2));
  EXPECT_EQ(
      error.message,
      "jetmem-probe printed invalid output: it names more new targets than are taken in a day");
  EXPECT_EQ(failures("invalid_output"), 1);
}

// ---- over a restart of the daemon

TEST_F(ProbeProgramCudaTest, ARestartProbesNoEarlier) {
  make_and_run(kSound, 2);
  clock.ahead += minutes(1);
  make();
  program->due();
  run_for(100);
  EXPECT_EQ(starts(), 0);
  ASSERT_TRUE(later_answered(3, minutes(4)));
  run_for(100);
  EXPECT_EQ(starts(), 1) << "without CUDA";
  make();
  program->apply(settings);
  ASSERT_TRUE(answered(4)) << "whoever reloads gets it";
  EXPECT_EQ(starts(), 1);
}

TEST_F(ProbeProgramTest, WithoutADirectoryNothingIsKept) {
  runtime_directory.clear();
  make_and_run();
  EXPECT_FALSE(std::filesystem::exists("/probe.json"));
  make_and_run(kSound, 2);
}

// ---- what it does to the kernel's log

TEST_F(ProbeProgramCudaTest, ComplaintsOfTheDriverSlowCudaDown) {
  make("begin; is_cuda && sleep 0.2; result\n");
  events = 7;  // of before
  for (const auto& [new_events, hours_between] :
       {std::pair(0U, 1), {3U, 2}, {1U, 4}, {0U, 2}, {0U, 1}}) {
    run_cuda(new_events);
    EXPECT_EQ(interval("cuda"), hours_between * 3600);
  }
  EXPECT_TRUE(
      log.has("the probe with CUDA made the kernel log 3 events: the next ones come only "
              "every 2h"));
  EXPECT_TRUE(log.has("left no trace in the kernel's log: the next ones come every 2h"));
  EXPECT_EQ(figure("jetmem_probe_side_effects_total"), 11);
}

TEST_F(ProbeProgramCudaTest, ALogThatNobodyFollowsSaysNothing) {
  events.reset();
  make("begin; is_cuda && sleep 0.2; result\n");
  program->due();
  ASSERT_TRUE(comes_to_run("cuda"));
  EXPECT_TRUE(std::isnan(figure("jetmem_probe_side_effects_total")));
  events = 5;  // of before: it is followed from now on
  ASSERT_TRUE(answered(2));
  run_for(100);
  EXPECT_EQ(interval("cuda"), 3600);
  EXPECT_EQ(figure("jetmem_probe_side_effects_total"), 5);
}

TEST_F(ProbeProgramCudaTest, ComplaintsDuringTheRunWithoutCudaAreNotCudas) {
  make("begin; is_cuda || sleep 0.2; result\n");
  program->due();
  run_for(50);
  events = 5;
  ASSERT_TRUE(answered(2));
  run_for(100);
  EXPECT_EQ(interval("cuda"), 3600);
}

}  // namespace
}  // namespace jetmem
