// SPDX-License-Identifier: Apache-2.0
// A storm of events allocates nothing: neither what reads and counts them, nor what would tell the
// journal, nor what shows them.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "collectors/kernel_log/source.h"
#include "daemon/log/event_log.h"
#include "tests/allocation/allocations.h"

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::KernelLog;
using kernel_log::Occurrence;

class CountingLog final : public Log {
 public:
  void write(LogEntry) override { ++entries; }
  int entries = 0;
};

TEST(Allocation, NoneInAStormOfKernelEvents) {
  SystemClock clock;
  CountingLog out;
  EventLog events(out, clock);
  KernelLog log(clock, {kernel_log::Soc::kTegra234},
                [&](const Event& event, const Occurrence& seen) { events.event(event, seen); });
  log.caught_up();
  SampleTable table;
  const std::size_t section = table.add_section("kernel_log");
  KernelLogSource source;
  source.set_reading({&log, KernelLogInput::kKmsg, Nanoseconds(0), std::nullopt});
  Facts facts;
  Readings readings;
  AbsentValues absent;
  // Made beforehand: what the kernel would print.
  std::vector<std::string> records;
  for (int i = 0; i < 3000; ++i) {
    const std::string head = "3," + std::to_string(i) + "," + std::to_string(5'000'000 + i * 100);
    const char* const unit = i % 2 == 0 ? "12000000" : "8000000";
    std::string text = std::string("arm-smmu ") + unit +
                       ".iommu: Unhandled context fault: fsr=0x402, iova=0x3fded8000, "
                       "fsynr=0x6f0013, cbfrsynra=0x835, cb=2";
    if (i % 3 == 1) {
      text =
          "Out of memory: Killed process 71 (camera app) total-vm:1kB, anon-rss:1kB, "
          "file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0";
    }
    if (i % 3 == 2) text = "usb 1-2: new high-speed USB device number 4 using tegra-xusb\\x09";
    records.push_back(head + ",-;" + text + "\n SUBSYSTEM=platform\n DEVICE=+platform:x\n");
  }
  const auto feed = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      log.record(records[i]);
      if (i % 100 == 0) {
        log.flush();
        events.flush_due(log.tally());
        SampleWriter writer(table, section, Nanoseconds(0));
        WriteContext context{facts, readings, absent};
        source.write(writer, context);
      }
    }
  };
  feed(0, 1000);
  EXPECT_EQ(allocations_in([&] {
              feed(1000, 3000);
              log.flush();
            }),
            0U);
  EXPECT_EQ(log.tally().events(kernel_log::EventKind::kOomKill, kernel_log::Origin::kSystem),
            1000U);
  EXPECT_EQ(out.entries, 3);  // of each source of trouble the first
}

// Every message that the fixtures hold, of each family.
TEST(Allocation, NoneInALogWithEveryKindOfEvent) {
  std::vector<std::string> texts;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(JETMEM_FIXTURES) + "/kernel-log")) {
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (!line.empty()) texts.push_back(line);
    }
  }
  std::vector<std::string> records;
  for (std::size_t i = 0; i < 2 * texts.size(); ++i) {
    const std::string number = std::to_string(i);
    records.push_back("3," + number + "," + number + "000,-;" + texts[i % texts.size()] + "\n");
  }
  SystemClock clock;
  std::uint64_t events = 0;
  KernelLog log(clock, {kernel_log::Soc::kTegra234},
                [&](const Event&, const Occurrence&) { ++events; });
  log.caught_up();
  const auto feed = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) log.record(records[i]);
    log.flush();
  };
  feed(0, texts.size());
  ASSERT_GT(events, 200U);
  const std::uint64_t first = events;
  EXPECT_EQ(allocations_in([&] { feed(texts.size(), records.size()); }), 0U);
  EXPECT_EQ(events, 2 * first);
}

}  // namespace
}  // namespace jetmem
