// SPDX-License-Identifier: Apache-2.0
// What tegrastats would print for a reading is read back as that reading: thousands of random ones.
#include <gtest/gtest.h>

#include "collectors/jetson/tegrastats/line.h"
#include "tests/random_input.h"

namespace jetmem {
namespace {

using test::RandomInput;

std::uint32_t small(RandomInput& random, std::uint32_t most) {
  return static_cast<std::uint32_t>(random.number(most));
}

// "off", "7%@1190", "7%" or "@1190", and what it means.
std::string load_of(RandomInput& random, TegrastatsLine::Load& load) {
  switch (random.below(4)) {
    case 0:
      load.off = true;
      return "off";
    case 1:
      load.percent = small(random, 100);
      return std::to_string(*load.percent) + "%";
    case 2:
      load.mhz = small(random, 4000);
      return "@" + std::to_string(*load.mhz);
    default:
      load.percent = small(random, 100);
      load.mhz = small(random, 4000);
      return std::to_string(*load.percent) + "%@" + std::to_string(*load.mhz);
  }
}

TEST(TegrastatsLine, IsReadBackAsItWasPrinted) {
  RandomInput random(10);
  TegrastatsLine reused;
  for (int cycle = 0; cycle < 2000; ++cycle) {
    TegrastatsLine needed;
    std::string text;
    if (random.one_in(2)) {
      needed.time = "11-20-2026 02:11:47";
      text = needed.time + " ";
    }
    // Not emplace(): Clang 14 does not see that these may be made without values.
    needed.ram = TegrastatsLine::Ram{};
    needed.ram->used_mb = small(random, 1U << 20);
    needed.ram->total_mb = small(random, 1U << 20);
    text += "RAM " + std::to_string(needed.ram->used_mb) + "/" +
            std::to_string(needed.ram->total_mb) + "MB";
    if (random.one_in(2)) {
      needed.ram->lfb_blocks = small(random, 100'000);
      const std::uint32_t megabytes = 1U << random.below(3);
      needed.ram->lfb_block_kb = megabytes * 1024;
      text += " (lfb " + std::to_string(*needed.ram->lfb_blocks) + "x" + std::to_string(megabytes) +
              "MB)";
    }
    if (random.one_in(2)) {
      needed.swap = TegrastatsLine::Swap{};
      needed.swap->used_mb = small(random, 1U << 20);
      needed.swap->total_mb = small(random, 1U << 20);
      needed.swap->cached_mb = small(random, 1U << 20);
      text += " SWAP " + std::to_string(needed.swap->used_mb) + "/" +
              std::to_string(needed.swap->total_mb) + "MB (cached " +
              std::to_string(*needed.swap->cached_mb) + "MB)";
    }
    text += " CPU [";
    for (std::uint64_t left = 1 + random.below(14); left > 0; --left) {
      TegrastatsLine::Core core;
      core.off = random.one_in(4);
      if (!core.off) {
        core.percent = small(random, 100);
        core.mhz = small(random, 4000);
      }
      text += needed.cores.empty() ? "" : ",";
      text += core.off ? "off" : std::to_string(*core.percent) + "%@" + std::to_string(*core.mhz);
      needed.cores.push_back(core);
    }
    text += "]";
    if (random.one_in(2)) {
      needed.emc = TegrastatsLine::Load{};
      text += " EMC_FREQ " + load_of(random, *needed.emc);
    }
    for (const char* name : {"NVENC", "VIC", "APE"}) {
      if (random.one_in(2)) continue;
      TegrastatsLine::Engine& engine = needed.engines.emplace_back();
      engine.name = name;
      text += std::string(" ") + name + " " + load_of(random, engine.load);
    }
    for (const char* name : {"cpu", "soc0", "tj"}) {
      if (random.one_in(2)) continue;
      // In halves: exact as a double.
      const auto halves = static_cast<std::int64_t>(random.below(500)) - 250;
      needed.zones.push_back({name, static_cast<double>(halves) / 2, std::nullopt});
      const std::string whole = std::to_string(std::abs(halves) / 2);
      text += std::string(" ") + name + "@" + (halves < 0 ? "-" : "") + whole +
              (halves % 2 == 0 ? "" : ".5") + "C";
    }
    for (const char* name : {"VDD_IN", "VDD_CPU_GPU_CV"}) {
      if (random.one_in(2)) continue;
      TegrastatsLine::Rail& rail = needed.rails.emplace_back();
      rail.name = name;
      rail.now_mw = static_cast<std::int32_t>(small(random, 100'000));
      rail.average_mw = static_cast<std::int32_t>(small(random, 100'000));
      text += std::string(" ") + name + " " + std::to_string(rail.now_mw) + "mW/" +
              std::to_string(*rail.average_mw) + "mW";
    }
    parse_tegrastats_line(text, reused);
    EXPECT_TRUE(reused.unknown.empty()) << text << "\nunknown: " << reused.unknown.front();
    needed.fields = reused.fields;
    needed.known_words = reused.known_words;
    ASSERT_EQ(reused, needed) << text;
  }
}

}  // namespace
}  // namespace jetmem
