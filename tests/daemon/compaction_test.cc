#include "daemon/compaction.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmath>

#include "tests/daemon/program_running.h"

namespace jetmem {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using testing::HasSubstr;

const std::string kReport =
    R"({"format":1,"seconds":1.5,"zones":[{"node":0,"zone":"Normal",)"
    R"("before":{"largest_order":3,"unusable_ratio":{"6":1.0,"9":1.0}},)"
    R"("after":{"largest_order":9,"unusable_ratio":{"6":0.2,"9":0.4}}},)"
    R"({"node":0,"zone":"DMA","before":{"largest_order":null,"unusable_ratio":{"6":null,"9":null}},)"
    R"("after":{"largest_order":null,"unusable_ratio":{"6":null,"9":null}}}]})"
    "\n";

class CompactionTest : public ProgramRunning {
 protected:
  CompactionTest() {
    table.add_section("compaction");
    rule.name = std::string(Compaction::kAlert);
    settings.compact = true;
    settings.compact_socket = directory + "/socket";
    options.runtime_directory = directory;
    options.boot_id = "this-boot";
    options.deadline = milliseconds(300);
    options.look = milliseconds(50);
    options.first_pause = milliseconds(100);
  }
  void make() {
    compaction = std::make_unique<Compaction>(clock, spawner, log, options);
    ASSERT_TRUE(compaction->start(event));
    compaction->apply(settings);
  }
  void tell(Change change, const std::string& zone = "Normal") {
    Transition transition;
    transition.rule = &rule;
    transition.change = change;
    transition.labels = {{"node", "0"}, {"zone", zone}};
    compaction->tell(transition);
  }
  void listen() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    settings.compact_socket.copy(address.sun_path, sizeof address.sun_path - 1);
    listener = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener.get(), 8), 0);
  }
  UniqueFd accept(int patience = 3000) {
    UniqueFd fd;
    run_until(
        [&] {
          fd = UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
          return fd.valid();
        },
        patience);
    return fd;
  }
  // As the unit does.
  bool serve(const std::string& answer = kReport) {
    const UniqueFd fd = accept();
    return fd.valid() && ::send(fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL) ==
                             static_cast<ssize_t>(answer.size());
  }
  bool is_asked(int patience = 150) { return accept(patience).valid(); }
  double value(const std::string& key) {
    SampleWriter out(table, 0, clock.boot());
    compaction->write(out);
    out.finish();
    return table.value_of("jetmem_compaction" + key);
  }
  double results(const std::string& result) { return value("s_total{result=\"" + result + "\"}"); }
  double skips(const std::string& reason) {
    return value("_skips_total{reason=\"" + reason + "\"}");
  }
  bool comes_to(const std::string& result, double count = 1) {
    return run_until([&] { return results(result) == count; });
  }
  std::string state() { return directory + "/compaction.json"; }

  Rule rule;
  AlertsSettings settings;
  CompactionOptions options;
  SampleTable table;
  UniqueFd listener;
  std::unique_ptr<Compaction> compaction;
};

TEST_F(CompactionTest, OffByDefault) {
  EXPECT_FALSE(AlertsSettings().compact);
  settings.compact = false;
  listen();
  make();
  tell(Change::kFiring);
  EXPECT_FALSE(is_asked());
  EXPECT_TRUE(std::isnan(results("ok")));
  EXPECT_TRUE(log.entries.empty());
  EXPECT_FALSE(std::filesystem::exists(state()));
  settings.compact = true;
  compaction->apply(settings);
  EXPECT_TRUE(is_asked()) << "switched on while it fires";
}

TEST_F(CompactionTest, AsksOnceAndTellsWhatItBrought) {
  listen();
  make();
  tell(Change::kPending);
  EXPECT_FALSE(is_asked());
  tell(Change::kFiring);
  ASSERT_TRUE(serve());
  ASSERT_TRUE(comes_to("ok"));
  EXPECT_EQ(value("_seconds"), 1.5);
  EXPECT_EQ(value("_largest_order{node=\"0\",when=\"before\",zone=\"Normal\"}"), 3);
  EXPECT_EQ(value("_largest_order{node=\"0\",when=\"after\",zone=\"Normal\"}"), 9);
  EXPECT_TRUE(std::isnan(value("_largest_order{node=\"0\",when=\"after\",zone=\"DMA\"}")));
  EXPECT_TRUE(log.has("cameras may lose frames"));
  EXPECT_TRUE(
      log.has("compacted in 1500ms: largest free order outside CMA: node 0 Normal 3 -> 9") ||
      log.has("compacted in 1s500ms: largest free order outside CMA: node 0 Normal 3 -> 9"))
      << log.entries.back();
  EXPECT_FALSE(is_asked()) << "it fires on, and the interval is not over";
}

// The daemon tells what was kept over its restart before its event loop is there.
TEST_F(CompactionTest, OneThatFiresAlreadyAtTheStart) {
  listen();
  compaction = std::make_unique<Compaction>(clock, spawner, log, options);
  compaction->apply(settings);
  compaction->forget();
  tell(Change::kFiring);
  ASSERT_TRUE(compaction->start(event));
  ASSERT_TRUE(serve());
  ASSERT_TRUE(comes_to("ok"));
  compaction = std::make_unique<Compaction>(clock, spawner, log, options);
  compaction->apply(settings);
  tell(Change::kFiring);
  ASSERT_TRUE(compaction->start(event));
  EXPECT_FALSE(is_asked());
  EXPECT_EQ(skips("interval"), 1);
}

TEST_F(CompactionTest, AgainWhileItFiresAfterTheInterval) {
  listen();
  make();
  tell(Change::kFiring);
  ASSERT_TRUE(serve());
  ASSERT_TRUE(comes_to("ok"));
  clock.ahead = minutes(59);
  tell(Change::kResolved);
  tell(Change::kFiring);
  EXPECT_FALSE(is_asked()) << "a flapping alert does not come sooner";
  EXPECT_EQ(skips("interval"), 1);
  EXPECT_TRUE(log.has("too short ago"));
  clock.ahead = minutes(61);
  tell(Change::kFiring, "DMA32");
  ASSERT_TRUE(serve());
  EXPECT_TRUE(comes_to("ok", 2));
}

TEST_F(CompactionTest, NotForOneThatIsOverOrBlindOrForgotten) {
  listen();
  make();
  for (const Change change : {Change::kResolved, Change::kUnknown, Change::kSilenced}) {
    tell(Change::kFiring);
    tell(change);
    EXPECT_FALSE(is_asked(60)) << change_name(change);
  }
  tell(Change::kFiring);
  compaction->forget();
  EXPECT_FALSE(is_asked(60)) << "the rules are others now";
  rule.name = "JetmemMemoryLow";
  tell(Change::kFiring);
  EXPECT_FALSE(is_asked()) << "not for other alerts";
}

TEST_F(CompactionTest, ARestartDoesNotComeSooner) {
  listen();
  make();
  tell(Change::kFiring);
  ASSERT_TRUE(serve());
  ASSERT_TRUE(comes_to("ok"));
  make();
  tell(Change::kFiring);
  EXPECT_FALSE(is_asked());
  clock.ahead = minutes(61);
  make();
  tell(Change::kFiring);
  EXPECT_TRUE(serve());
}

TEST_F(CompactionTest, WhatIsNotKnownCountsAsJustNow) {
  listen();
  std::ofstream(state()) << "{\"format\":1,";
  make();
  tell(Change::kFiring);
  EXPECT_FALSE(is_asked());
  EXPECT_TRUE(log.has("not known"));
  options.runtime_directory.clear();
  make();
  tell(Change::kFiring);
  EXPECT_FALSE(is_asked()) << "nothing is kept: each start counts";
  clock.ahead = minutes(61);
  tell(Change::kResolved);
  tell(Change::kFiring);
  EXPECT_TRUE(serve());
}

TEST_F(CompactionTest, AnotherBootsIsNone) {
  listen();
  std::ofstream(state()) << R"({"format":1,"boot_id":"before","last":1})";
  make();
  tell(Change::kFiring);
  EXPECT_TRUE(serve());
}

TEST_F(CompactionTest, WhereItCannotBeKeptNothingIsDone) {
  listen();
  options.runtime_directory = directory + "/nowhere";
  make();
  tell(Change::kFiring);
  EXPECT_FALSE(is_asked());
  EXPECT_GE(skips("not_kept"), 1);
  EXPECT_TRUE(log.has("a restart would forget it"));
}

TEST_F(CompactionTest, NoSocketIsTriedAgain) {
  make();
  tell(Change::kFiring);
  ASSERT_TRUE(comes_to("not_started"));
  EXPECT_TRUE(log.has("jetmem-compact.socket"));
  listen();
  ASSERT_TRUE(serve());
  EXPECT_TRUE(comes_to("ok"));
}

TEST_F(CompactionTest, NotWhileAProbeRuns) {
  bool runs = true;
  options.probe_runs = [&] { return runs; };
  listen();
  make();
  tell(Change::kFiring);
  EXPECT_FALSE(is_asked());
  EXPECT_GE(skips("probe_running"), 2);
  EXPECT_EQ(log.entries.size(), 1U) << "said once";
  runs = false;
  EXPECT_TRUE(serve());
}

TEST_F(CompactionTest, AUnitThatHangsDiesOrTellsNonsense) {
  settings.compact_interval = milliseconds(1);
  listen();
  make();
  tell(Change::kFiring);
  {
    const UniqueFd hangs = accept();
    ASSERT_TRUE(comes_to("timeout"));
  }
  ASSERT_TRUE(serve(""));
  ASSERT_TRUE(comes_to("failed"));
  EXPECT_TRUE(log.has("without a word"));
  ASSERT_TRUE(serve("{\"format\":1,\"error\":\"no \\u001bright\"}\n"));
  ASSERT_TRUE(comes_to("failed", 2));
  EXPECT_TRUE(log.has("no ?right"));
  ASSERT_TRUE(serve(kReport.substr(0, 100)));
  ASSERT_TRUE(comes_to("garbage"));
  const UniqueFd floods = accept();
  const std::string bytes(4096, 'x');
  ASSERT_TRUE(run_until([&] {
    (void)!::send(floods.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return results("garbage") == 2;
  }));
  EXPECT_EQ(results("ok"), 0);
  EXPECT_TRUE(std::isnan(value("_seconds")));
}

TEST_F(CompactionTest, SwitchedOffWhileOneRuns) {
  listen();
  make();
  tell(Change::kFiring);
  const UniqueFd unit = accept();
  ASSERT_TRUE(unit.valid());
  compaction->apply({});
  EXPECT_TRUE(log.has("not waited for"));
  char byte;
  EXPECT_EQ(::recv(unit.get(), &byte, 1, 0), 0) << "the connection is closed";
}

}  // namespace
}  // namespace jetmem
