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
  EXPECT_EQ(figure("jetmem_probe_runs_total{kind=\"host\",state=\"ok\",target=\"\"}"), 1);
  EXPECT_EQ(figure("jetmem_probe_running{group=\"memory\"}"), 0);
  EXPECT_TRUE(std::isnan(interval("cuda"))) << "switched off";
  EXPECT_EQ(windows, "()");
  ASSERT_EQ(log.entries.size(), 2U);
  EXPECT_EQ(
      log.entries[0].message.rfind("jetmem-probe runs with the daemon's own rights: connect to", 0),
      0U);
  EXPECT_EQ(log.entries[1].message, "probe, first results of memory: host ok, dmabuf ok");
  later();
  ASSERT_TRUE(answered(2));
  EXPECT_EQ(log.entries.size(), 2U) << "no news";
}

TEST_F(ProbeProgramTest, CudaComesAfterInAProcessOfItsOwn) {
  settings.probe.cuda = true;
  make();
  program->due();
  ASSERT_TRUE(answered(2));
  ASSERT_EQ(requested().size(), 2U);
  EXPECT_EQ(requested()[1].rfind("--kinds pinned,managed,device,registered,pool,dmabuf_export,", 0),
            0U);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << "both hold";
  EXPECT_TRUE(tells_of("pinned"));
  EXPECT_EQ(windows, "()()") << "never both";
  later();
  ASSERT_TRUE(answered(3));
  run_for(100);
  EXPECT_EQ(requested().size(), 3U) << "with CUDA only each hour";
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  later(hours(1));
  EXPECT_TRUE(run_until([this] { return requested().size() == 5; }));
}

// What an alert was about is unknown meanwhile.
TEST_F(ProbeProgramTest, AGroupWithoutResultIsMissing) {
  settings.probe.cuda = true;
  make();
  const Labels device{{"kind", "device"}, {"target", ""}};
  const Labels host{{"kind", "host"}};
  EXPECT_EQ(program->missing({}), "source probe has no result of memory");
  EXPECT_EQ(program->missing(device), "source probe has no result of cuda");
  program->due();
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(program->missing({}), "source probe has no result of cuda");
  EXPECT_EQ(program->missing(device), "source probe has no result of cuda");
  EXPECT_EQ(program->missing(host), "");
  ASSERT_TRUE(answered(2));
  EXPECT_EQ(program->missing(device), "");
}

TEST_F(ProbeProgramTest, CudaSwitchedOffWhileItRunsItIsKilled) {
  settings.probe.cuda = true;
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

TEST_F(ProbeProgramTest, WhatIsTooOldIsDropped) {
  settings.probe.cuda = true;
  settings.probe.cuda_interval = minutes(10);
  make();
  program->due();
  ASSERT_TRUE(answered(2));
  memory(300U << 10);  // too little for CUDA only
  for (int i = 1; i <= 5; ++i) {
    later();
    ASSERT_TRUE(answered(2 + i));
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

TEST_F(ProbeProgramTest, TooLittleForCudaIsEnoughForTheRest) {
  settings.probe.cuda = true;
  memory(300U << 10);
  make();
  program->due();
  ASSERT_TRUE(run_until([this] { return skips("cuda", "low_available") == 1; }));
  EXPECT_EQ(answers, 1) << "the source stays ok";
  EXPECT_EQ(error.message, "");
  EXPECT_EQ(starts(), 1);
  // Not an hour later but as soon as it can be.
  memory(4U << 20);
  later();
  ASSERT_TRUE(answered(3));
  EXPECT_EQ(starts(), 3);
}

TEST_F(ProbeProgramTest, WhatShouldBeKnownAndIsNotHoldsCuda) {
  settings.probe.cuda = true;
  others = SourceState::kFailed;
  make();
  program->due();
  ASSERT_TRUE(run_until([this] { return skips("cuda", "throttling_unknown") == 1; }));
  EXPECT_EQ(starts(), 1);
}

// Without the socket it is charged to the daemon.
TEST_F(ProbeProgramTest, WithinItsOwnLimitItIsNotStarted) {
  std::filesystem::create_directories(directory + "/proc/self");
  std::filesystem::create_directories(directory + "/sys/fs/cgroup");
  std::ofstream(directory + "/proc/self/cgroup") << "0::/\n";
  std::ofstream(directory + "/sys/fs/cgroup/memory.max") << (64U << 20) << "\n";
  std::ofstream(directory + "/sys/fs/cgroup/memory.current") << (4U << 20) << "\n";
  make();
  program->due();
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(error.code, Errc::kSkipped);
  EXPECT_EQ(error.message,
            "jetmemd's own unit leaves only 60MiB, and 88 are wanted: enable jetmem-probe.socket, "
            "which has limits of its own");
  EXPECT_EQ(skips("memory", "cgroup_headroom"), 1);
  EXPECT_EQ(starts(), 0);
  EXPECT_EQ(windows, "");
  const UniqueFd listener = listen();
  later();
  EXPECT_EQ(starts(), 1) << "systemd's is not";
}

TEST_F(ProbeProgramTest, NeverTwoAtATime) {
  make("begin; sleep 0.5; result\n");
  program->due();
  ASSERT_EQ(starts(), 1);
  later();
  EXPECT_EQ(skips("memory", "previous_run_unfinished"), 1);
  EXPECT_EQ(starts(), 1);
  ASSERT_TRUE(run_until([this] { return !text.empty(); }));
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

TEST_F(ProbeProgramTest, WhatTakesLongIsWorthShowing) {
  make("begin; sleep 2.5; result\n");
  program->due();
  run_for(300);
  EXPECT_EQ(program->pid(), -1);
  run_for(1900);
  EXPECT_GT(program->pid(), 0);
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(program->pid(), -1);
}

// ---- what is shown, and for how long

TEST_F(ProbeProgramTest, ItsAgeIsShown) {
  settings.probe.cuda = true;
  make("begin; [ -e $here/bad ] && exit 1; result\n");
  const auto age = [this](const std::string& group) {
    return figure("jetmem_probe_age_seconds{group=\"" + group + "\"}");
  };
  const auto since = [this] {
    return figure("jetmem_probe_since_success_seconds{kind=\"pinned\",target=\"\"}");
  };
  EXPECT_TRUE(std::isnan(age("memory")));
  program->due();
  ASSERT_TRUE(answered(2));
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
  later();
  ASSERT_TRUE(answered(5));
  EXPECT_TRUE(std::isnan(age("memory"))) << "nothing is shown";
}

// Doubled for what it makes the driver print, its results are still as old as they are.
TEST_F(ProbeProgramTest, AResultIsWorthThreeOfTheIntervalsThatWereSet) {
  settings.probe.cuda = true;
  make("begin; is_cuda && sleep 0.2; result\n");
  for (int i = 0; i < 4; ++i) {
    later(hours(25));
    ASSERT_TRUE(comes_to_run("cuda"));
    events = *events + 1;
    ASSERT_TRUE(comes_to_run("cuda", false));
    run_for(100);
  }
  EXPECT_EQ(interval("cuda"), 16 * 3600);
  const auto has = [this](const char* kind) { return text.find(kind) != std::string::npos; };
  text.clear();
  later(hours(2));
  ASSERT_TRUE(run_until([&] { return has("\"host\""); }));
  EXPECT_TRUE(has("\"pinned\""));
  text.clear();
  later(hours(1) + minutes(1));
  EXPECT_TRUE(run_until([&] { return has("\"host\""); }));
  EXPECT_FALSE(has("\"pinned\""));
}

// Each time another heap: hostile, or out of its mind.
TEST_F(ProbeProgramTest, NamesWithoutEndAreGarbage) {
  // The first day begins at boot: this machine's must not end during the test.
  clock.ahead += hours(24);
  make("begin; result | sed \"s/\\\"dmabuf\\\",\\\"target\\\":\\\"/&$$/\"\n");
  int taken = 0;
  for (int i = 0; i < 40; ++i) {
    const int before = answers;
    later();
    ASSERT_TRUE(answered(before + 1));
    if (!error.message.empty()) break;
    ++taken;
  }
  EXPECT_EQ(taken, 32);
  EXPECT_EQ(
      error.message,
      "jetmem-probe printed invalid output: it names more new targets than are taken in a day");
  EXPECT_EQ(failures("invalid_output"), 1);
}

// ---- over a restart of the daemon

TEST_F(ProbeProgramTest, ABootIsLeftAlone) {
  options.schedule.first_memory = milliseconds(300);
  make();
  program->due();
  run_for(150);
  EXPECT_EQ(starts(), 0);
  ASSERT_TRUE(answered(1));
  EXPECT_EQ(starts(), 1);
}

TEST_F(ProbeProgramTest, ARestartProbesNoEarlier) {
  settings.probe.cuda = true;
  make();
  program->due();
  ASSERT_TRUE(answered(2));
  clock.ahead += minutes(1);
  make();
  program->due();
  run_for(100);
  EXPECT_EQ(starts(), 0);
  clock.ahead += minutes(4);
  program->due();
  ASSERT_TRUE(answered(3));
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
  make();
  program->due();
  ASSERT_TRUE(answered(2));
}

// ---- what it does to the kernel's log

TEST_F(ProbeProgramTest, ComplaintsOfTheDriverSlowCudaDown) {
  settings.probe.cuda = true;
  make("begin; is_cuda && sleep 0.2; result\n");
  const auto run = [&](std::uint64_t new_events) {
    later(hours(25));
    ASSERT_TRUE(comes_to_run("cuda"));
    *events += new_events;
    ASSERT_TRUE(comes_to_run("cuda", false));
    run_for(100);
  };
  events = 7;  // of before
  run(0);
  EXPECT_EQ(interval("cuda"), 3600);
  run(3);
  EXPECT_EQ(interval("cuda"), 7200);
  EXPECT_TRUE(
      log.has("the probe with CUDA made the kernel log 3 events: the next ones come only "
              "every 2h"));
  run(1);
  EXPECT_EQ(interval("cuda"), 4 * 3600);
  run(0);
  EXPECT_EQ(interval("cuda"), 7200);
  EXPECT_TRUE(log.has("left no trace in the kernel's log: the next ones come every 2h"));
  run(0);
  EXPECT_EQ(interval("cuda"), 3600);
  EXPECT_EQ(figure("jetmem_probe_side_effects_total"), 11);
}

TEST_F(ProbeProgramTest, ALogThatNobodyFollowsSaysNothing) {
  settings.probe.cuda = true;
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

TEST_F(ProbeProgramTest, ComplaintsDuringTheRunWithoutCudaAreNotCudas) {
  settings.probe.cuda = true;
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
