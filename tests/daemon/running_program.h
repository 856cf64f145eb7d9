// SPDX-License-Identifier: Apache-2.0
// An event loop, and programs in it, for tests of what runs them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/spawn.h"
#include "daemon/event/sd_event_loop.h"
#include "metrics/sample.h"
#include "tests/named_process.h"
#include "tests/recorded_log.h"
#include "tests/temp_dir.h"

namespace jetmem {

// The real clock, and by how much a test puts the boot clock forward.
class ClockAhead final : public Clock {
 public:
  Nanoseconds boot() const override { return clock_.boot() + ahead; }
  Nanoseconds mono() const override { return clock_.mono(); }
  Nanoseconds wall() const override { return clock_.wall(); }
  Nanoseconds ahead{0};

 private:
  SystemClock clock_;
};

class ProgramRunning : public testing::Test {
 protected:
  // A shell script.
  std::string script(const std::string& body) {
    std::string path = directory + "/program";
    std::ofstream(path) << "#!/bin/sh\n" << body;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  // Runs the loop until the condition holds; false when it does not within the time.
  bool run_until(const std::function<bool()>& condition, int milliseconds = 5000) {
    const Nanoseconds end = clock.mono() + std::chrono::milliseconds(milliseconds);
    while (!condition()) {
      if (clock.mono() >= end) return false;
      sd_event_run(loop.event(), 10'000);
      ++turns;
    }
    return true;
  }
  void run_for(int milliseconds) {
    run_until([] { return false; }, milliseconds);
  }
  // Of what this part of the daemon writes.
  template <class Part>
  double value_of(Part& part, const std::string& key) {
    SampleWriter out(table, section, clock.boot());
    part.write(out);
    out.finish();
    return table.value_of(key);
  }
  SdEventLoop loop;
  TempDir temporary;
  std::string directory = temporary.path();
  ClockAhead clock;
  SystemSpawner spawner;
  RecordedLog log;
  SampleTable table;
  std::size_t section = table.add_section("self");
  int turns = 0;
};

}  // namespace jetmem
