// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/incident_capture.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "tests/daemon/running_program.h"

namespace jetmem {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using testing::HasSubstr;
using testing::Not;

class IncidentCaptureTest : public ProgramRunning {
 protected:
  IncidentCaptureTest() {
    rule.name = "JetmemOomKill";
    rule.severity = Severity::kCritical;
    options.state_directory = directory;
    options.runtime_directory = directory;
    options.boot_id = "this-boot";
    options.program = script("echo \"$@\" >> " + directory + "/calls\n");
    options.delay = milliseconds(10);
  }
  void make() {
    capture = std::make_unique<IncidentCapture>(clock, spawner, log, options);
    ASSERT_TRUE(capture->start(loop));
    capture->apply(settings);
  }
  void fire(Change change = Change::kFiring) {
    Transition transition;
    transition.rule = &rule;
    transition.change = change;
    capture->notify(transition);
  }
  void make_and_fire() {
    make();
    fire();
  }
  bool comes_to(const std::string& outcome, double times = 1) {
    return run_until([&] { return count(outcome) == times; });
  }
  double value(const std::string& key) { return value_of(*capture, key); }
  double count(const std::string& outcome) {
    return value("jetmem_captures_total{outcome=\"" + outcome + "\"}");
  }

  IncidentCaptureOptions options;
  Settings settings;
  Rule rule;
  std::unique_ptr<IncidentCapture> capture;
};

TEST_F(IncidentCaptureTest, IsWrittenWhenACriticalAlertFires) {
  options.config = {"/etc/a.yaml", "/etc/b.yaml"};
  options.own_address = [] { return std::string("unix:/run/x/api.socket"); };
  make_and_fire();
  EXPECT_EQ(value("jetmem_capture_running"), 1);
  ASSERT_TRUE(comes_to("ok"));
  EXPECT_EQ(value("jetmem_capture_running"), 0);
  EXPECT_THAT(read("calls"), HasSubstr("capture --automatic --alert JetmemOomKill --output " +
                                       directory + "/captures/jetmem-capture-"));
  EXPECT_THAT(read("calls"),
              HasSubstr("-JetmemOomKill-n1.tar.zst --keep 5 --max-total-size 67108864B "
                        "--history 21600s --deadline 120s --history-file " +
                        directory + "/history.db"));
  EXPECT_THAT(read("calls"), HasSubstr("--config /etc/a.yaml --config /etc/b.yaml --daemon "
                                       "unix:/run/x/api.socket"))
      << "whose child it is";
  EXPECT_GT(value("jetmem_capture_last_timestamp_seconds"), 1e9);
  ASSERT_FALSE(log.entries.empty());
  EXPECT_EQ(log.entries.back().level, LogLevel::kInfo);
  EXPECT_TRUE(log.has("/captures/jetmem-capture-"));
  settings.history.directory = directory + "/else";
  capture->apply(settings);
  clock.ahead += hours(1);
  fire();
  ASSERT_TRUE(comes_to("ok", 2));
  EXPECT_THAT(read("calls"), HasSubstr("--history-file " + directory + "/else/history.db"));
}

TEST_F(IncidentCaptureTest, OnlyThenAndOnlyWithADirectory) {
  make();
  fire(Change::kPending);
  fire(Change::kResolved);
  rule.severity = Severity::kWarning;
  fire();
  settings.capture.enabled = false;
  rule.severity = Severity::kCritical;
  capture->apply(settings);
  fire();
  run_for(60);
  EXPECT_EQ(read("calls"), "");
  settings.capture.enabled = true;
  options.state_directory.clear();
  make_and_fire();
  run_for(60);
  EXPECT_EQ(read("calls"), "");
  EXPECT_TRUE(std::isnan(value("jetmem_capture_running")));
}

TEST_F(IncidentCaptureTest, NoMoreOftenThanTheSettingsSayAlsoOverARestart) {
  make_and_fire();
  fire();  // while it is written: no second one
  EXPECT_EQ(count("skipped_running"), 1);
  EXPECT_TRUE(log.has("no bundle of its own is written for JetmemOomKill"));
  ASSERT_TRUE(comes_to("ok"));
  fire();
  EXPECT_EQ(count("skipped_interval"), 1);
  make_and_fire();
  run_for(60);
  EXPECT_EQ(count("skipped_interval"), 1);
  clock.ahead += hours(1);
  fire();
  ASSERT_TRUE(comes_to("ok"));
  options.boot_id = "next-boot";
  make_and_fire();
  EXPECT_TRUE(comes_to("ok")) << "that of another boot says nothing";
}

TEST_F(IncidentCaptureTest, OneThatFailedEarlyInABootDelaysNoLongerAfterARestart) {
  options.program = directory + "/no-such-program";
  clock.ahead = minutes(3) - clock.boot();
  make_and_fire();
  ASSERT_TRUE(comes_to("not_started"));
  EXPECT_TRUE(log.has("no-such-program"));
  clock.ahead += minutes(12);
  options.program = script("echo disk full >&2; exit 1\n");
  make_and_fire();
  ASSERT_TRUE(comes_to("failed"));
  EXPECT_TRUE(log.has("no bundle was written for JetmemOomKill: ended with status 1: disk full"));
  EXPECT_TRUE(std::isnan(value("jetmem_capture_last_timestamp_seconds")));
}

TEST_F(IncidentCaptureTest, ACountUnderWayIsWaitedFor) {
  for (int i = 0; i < 900; ++i) {
    temporary.write("captures/jetmem-capture-X-n" + std::to_string(i) + ".tar.zst.part", "1");
  }
  make_and_fire();
  // Somebody asks for a count, again and again, beyond the moment at which it would begin.
  std::function<void()> ask = [this] { capture->apply(settings); };
  const auto call = [](sd_event_source*, void* what) {
    (*static_cast<std::function<void()>*>(what))();
    return 0;
  };
  sd_event_source* asker = nullptr;
  ASSERT_GE(sd_event_add_defer(loop.event(), &asker, call, &ask), 0);
  sd_event_source_set_enabled(asker, SD_EVENT_ON);
  // The timers come first.
  sd_event_source_set_priority(asker, SD_EVENT_PRIORITY_IDLE);
  run_for(150);
  EXPECT_EQ(count("not_started"), 0);
  sd_event_source_unref(asker);
  ASSERT_TRUE(comes_to("ok"));
  EXPECT_EQ(count("not_started"), 0);
}

TEST_F(IncidentCaptureTest, StoppingEndsItAndTheNextStartMayBegin) {
  options.program = script("sleep 60\n");
  make_and_fire();
  ASSERT_TRUE(run_until([&] { return capture->pid() > 0; }));
  capture->stop();
  EXPECT_EQ(value("jetmem_capture_running"), 0);
  options.program = script("true\n");
  make();  // no need that it fires anew
  EXPECT_TRUE(comes_to("ok"));
}

TEST_F(IncidentCaptureTest, AFailedOneIsTriedAgainAndIsInNobodysWay) {
  options.retry = milliseconds(10);
  options.program =
      script("echo x >> " + directory +
             "/tries; for a; do case $a in "
             "*.tar.zst) mkdir -p ${a%/*} && mkdir $a.part; echo half > $a.part/bundle; "
             "printf 'A temporary folder of jetmem, which removes it: %s\\ninode %s\\n' "
             "${a##*/}.part $(stat -c %i $a.part) > $a.part/.jetmem-marker;; "
             "esac; done; kill -9 $$\n");
  make_and_fire();
  // Somebody else asks for counts meanwhile.
  ASSERT_TRUE(run_until([&] {
    capture->apply(settings);
    return count("failed") == 3;
  }));
  run_for(100);
  EXPECT_EQ(read("tries"), "x\nx\nx\n");
  EXPECT_TRUE(run_until([&] { return value("jetmem_capture_bundle_bytes") == 0; }));
  fire();
  EXPECT_EQ(count("skipped_interval"), 1);
  clock.ahead += std::chrono::minutes(6);
  fire();
  EXPECT_EQ(value("jetmem_capture_running"), 1);
}

TEST_F(IncidentCaptureTest, TheNumberGrowsWhateverTheClockSaysAndWhatIsKeptIsCounted) {
  temporary.write("captures/jetmem-capture-20991231T000000Z-X-n41.tar.zst", "12345");
  make_and_fire();
  ASSERT_TRUE(comes_to("ok"));
  EXPECT_THAT(read("calls"), HasSubstr("-JetmemOomKill-n42.tar.zst"));
  EXPECT_TRUE(run_until([&] { return value("jetmem_capture_bundles") == 1; }));
  EXPECT_EQ(value("jetmem_capture_bundle_bytes"), 5);
}

TEST_F(IncidentCaptureTest, RestartsWithoutEndWriteNoBundlesWithoutEnd) {
  for (int n = 1; n <= 3; ++n) {
    temporary.write("captures/jetmem-capture-X-n" + std::to_string(n) + ".tar.zst", "1");
  }
  make_and_fire();
  EXPECT_TRUE(comes_to("skipped_interval"));
  EXPECT_EQ(read("calls"), "");
  EXPECT_TRUE(log.has("earlier boots included"));
}

}  // namespace
}  // namespace jetmem
