// SPDX-License-Identifier: Apache-2.0
// A device that boots and is killed as a test wants it, and what jetmemd keeps of that.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "base/root/small_file.h"
#include "collectors/device/boot/restart_summary.h"
#include "daemon/state/boot_history.h"
#include "tests/recorded_log.h"
#include "tests/temp_dir.h"

namespace jetmem {

using boot::DeviceEnd;
using boot::RunEnd;
using boot::What;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

inline constexpr Nanoseconds kWall = seconds(1763690000);

// One boot of a device: clocks that begin anew.
class TestDevice {
 public:
  explicit TestDevice(std::string id, Nanoseconds wall = kWall) : id_(std::move(id)) {
    clock.set_wall(wall);
    clock.advance(seconds(20));
  }
  BootHistory start(const std::string& directory, const std::string& settings = "aaaaaa") {
    log.entries.clear();
    BootHistory boot_history({directory, id_, settings, "0.1.0", before_reading, runtime_directory},
                             clock, log);
    boot_history.start();
    return boot_history;
  }
  ManualClock clock;
  RecordedLog log;
  std::function<void()> before_reading;
  std::string runtime_directory;

 private:
  std::string id_;
};

inline std::string& value_of(BootFacts& facts, What what) {
  return facts.values[static_cast<std::size_t>(what)];
}

inline BootFacts facts_with(std::string reason, std::vector<PstoreRecord> records = {}) {
  BootFacts facts;
  value_of(facts, What::kKernel) = "5.15.148-tegra";
  facts.reset_reason = std::move(reason);
  facts.pstore_listed = true;
  facts.records = std::move(records);
  return facts;
}

inline PstoreRecord panic(std::string_view what) {
  PstoreRecord record;
  parse_pstore_record(
      "dmesg-ramoops-0",
      "Panic#1 Part1\n<0>[1.0] Kernel panic - not syncing: " + std::string(what) + "\n", {},
      record);
  return record;
}

// The disk has its time on a machine that is busy.
inline bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// As if the process was killed: what waits to be written is, but no end is reported.
inline void kill(BootHistory& boot_history) {
  ASSERT_TRUE(comes_true([&] { return !boot_history.waits(); }));
}
inline bool shows_something(BootHistory& boot_history) {
  return comes_true([&] { return boot_history.cycle(); });
}

class BootHistoryTest : public testing::Test {
 protected:
  // A boot that is over: it ended in this way, or was killed.
  void past_boot(const std::string& id, std::optional<RunEnd> end,
                 const std::optional<BootFacts>& facts = {}) {
    TestDevice device(id);
    BootHistory boot_history = device.start(state);
    if (facts) boot_history.observe(*facts);
    if (end) {
      boot_history.finish(*end);
    } else {
      kill(boot_history);
    }
  }
  boot::History kept() const {
    boot::History history;
    const auto text = read_small_file(directory.file("boots.json"));
    if (text) {
      EXPECT_TRUE(boot::parse_history(*text, history));
    }
    return history;
  }
  TempDir directory;
  std::string state = directory.path();
};

}  // namespace jetmem
