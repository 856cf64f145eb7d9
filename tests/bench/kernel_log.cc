// SPDX-License-Identifier: Apache-2.0
// What following the kernel log costs, for scripts/bench: lines of a realistic mix, one in twenty
// an event's, as records of /dev/kmsg through everything the daemon does with them. The floor is a
// loop that finds each line's end and its record's number, nothing else. Prints one line a figure:
// name, floor, jetmem, in nanoseconds of CPU a line; "-" where there is no floor.

#include "collectors/kernel_log/kernel_log.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "collectors/kernel_log/text_log.h"
#include "tests/bench/count_malloc.h"
#include "tests/bench/measuring.h"

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::KernelLog;
using kernel_log::Occurrence;

constexpr std::size_t kLines = 200'000;
constexpr std::size_t kBenignPerEvent = 20;

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<std::string> lines;
  Lines each(text);
  for (std::string_view line; each.next(line);) {
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

struct Log {
  std::vector<std::string> records;
  std::string pasted;
};

Log make_mix() {
  const std::filesystem::path folder = std::string(JETMEM_FIXTURES) + "/kernel-log";
  const std::vector<std::string> benign = lines_of(folder / "benign.txt");
  std::vector<std::string> sending;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem();
    // How lines are written down, and what processes print: not the kernel's own lines.
    if (name == "benign" || name == "record" || name == "pasted" || name == "user_space_nvmap" ||
        name == "program_allocation") {
      continue;
    }
    for (std::string& line : lines_of(entry.path())) sending.push_back(std::move(line));
  }
  Log log;
  std::size_t next_benign = 0;
  std::size_t next_telling = 0;
  for (std::size_t i = 0; i < kLines; ++i) {
    const bool notifies = i % kBenignPerEvent == kBenignPerEvent - 1;
    const std::string& text =
        notifies ? sending[next_telling++ % sending.size()] : benign[next_benign++ % benign.size()];
    log.records.push_back((notifies ? "3," : "6,") + std::to_string(i) + "," +
                          std::to_string(i * 1000) + ",-;" + text + "\n");
    log.pasted += "[" + std::to_string(i / 1000) + "." + std::to_string(100'000 + i % 1000) + "] " +
                  text + "\n";
  }
  return log;
}

std::uint64_t floor_loop(const std::vector<std::string>& records) {
  std::uint64_t sum = 0;
  for (const std::string& record : records) {
    const char* p = std::strchr(record.c_str(), ',') + 1;
    sum += std::strtoull(p, nullptr, 10);
    const auto* end = static_cast<const char*>(std::memchr(p, '\n', record.size() - 2));
    sum += static_cast<std::uint64_t>(end - p);
  }
  return sum;
}

template <class F>
double median_of_five(const F& run) {
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) times.push_back(cpu_ns_of(run) / static_cast<double>(kLines));
  return median(std::move(times));
}

void mix() {
  const Log log = make_mix();
  std::uint64_t sum = 0;
  const double floor = median_of_five([&] { sum += floor_loop(log.records); });
  std::uint64_t events = 0;
  const SystemClock clock;
  const double records = median_of_five([&] {
    KernelLog kernel_log(clock, {kernel_log::Soc::kTegra234},
                         [&](const Event&, const Occurrence&) { ++events; });
    for (const std::string& record : log.records) kernel_log.record(record);
    kernel_log.flush();
  });
  const double pasted = median_of_five([&] {
    const auto text_log = std::make_unique<kernel_log::TextLog>(
        kernel_log::Soc::kTegra234, [&](const Event&, std::string_view) { ++events; });
    text_log->feed(log.pasted);
    text_log->finish();
  });
  if (sum == 0 || events < kLines / kBenignPerEvent) std::exit(1);
  std::printf("record of a realistic mix\t%.1f\t%.1f\n", floor, records);
  std::printf("pasted line of it\t-\t%.1f\n", pasted);
}

void storm() {
  std::vector<std::string> records;
  for (std::size_t i = 0; i < kLines; ++i) {
    records.push_back("3," + std::to_string(i) + "," + std::to_string(i * 100) +
                      ",-;arm-smmu 12000000.iommu: Unhandled context fault: fsr=0x402, iova=0x" +
                      std::to_string(10'000'000 + i * 16) +
                      ", fsynr=0x6f0013, cbfrsynra=0x835, "
                      "cb=2\n SUBSYSTEM=platform\n DEVICE=+platform:12000000.iommu\n");
  }
  const SystemClock clock;
  unsigned long allocations = 0;
  const double floor = median_of_five([&] { floor_loop(records); });
  const double cost = median_of_five([&] {
    KernelLog kernel_log(clock, {kernel_log::Soc::kTegra234}, nullptr);
    for (std::size_t i = 0; i < 1000; ++i) kernel_log.record(records[i]);
    allocations = allocations_of_this_thread();
    for (std::size_t i = 1000; i < records.size(); ++i) kernel_log.record(records[i]);
    allocations = allocations_of_this_thread() - allocations;
  });
  std::printf("record of a storm of faults\t%.1f\t%.1f\n", floor, cost);
  std::printf("allocations in the storm\t-\t%lu\n", allocations);
}

// What a driver that retries prints: known by its words, after every family has looked at it.
void refusals() {
  constexpr std::array<std::string_view, 4> kTexts{
      "foo 1a00000.bar: failed to allocate 65536 bytes of DMA memory: -12",
      "foo 1a00000.bar: foo_probe: Unable to allocate command buffer, err=-12",
      "mmc0: Unable to allocate ADMA buffers - falling back to standard DMA",
      "foo 1a00000.bar: probe with driver foo failed with error -110"};
  std::vector<std::string> records;
  for (std::size_t i = 0; i < kLines; ++i) {
    records.push_back("3," + std::to_string(i) + "," + std::to_string(i * 100) + ",-;" +
                      std::string(kTexts[i % kTexts.size()]) + "\n");
  }
  const SystemClock clock;
  const double floor = median_of_five([&] { floor_loop(records); });
  const double cost = median_of_five([&] {
    KernelLog kernel_log(clock, {kernel_log::Soc::kTegra234}, nullptr);
    for (const std::string& record : records) kernel_log.record(record);
    kernel_log.flush();
  });
  std::printf("record of a storm of refusals\t%.1f\t%.1f\n", floor, cost);
}

}  // namespace
}  // namespace jetmem

int main() {
  jetmem::mix();
  jetmem::storm();
  jetmem::refusals();
  return 0;
}
