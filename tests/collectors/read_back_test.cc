// SPDX-License-Identifier: Apache-2.0
// What the kernel would print for a reading is read back as that reading: thousands of random ones.
#include <gtest/gtest.h>

#include <algorithm>

#include "collectors/device/memory_map.h"
#include "collectors/dmabuf/bufinfo.h"
#include "collectors/proc/buddyinfo.h"
#include "collectors/proc/meminfo.h"
#include "collectors/proc/pressure.h"
#include "collectors/proc/vmstat.h"
#include "collectors/proc/zoneinfo.h"
#include "tests/random_input.h"

namespace jetmem {
namespace {

using test::kLetters;
using test::RandomInput;

template <class... Values>
std::string print(const char* format, Values... values) {
  char line[256];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}
unsigned long long wide(std::uint64_t value) { return value; }

// That a text can be parsed, into what earlier ones left.
template <class Reading>
void parse(Result<void> (*parser)(std::string_view, Reading&), const std::string& text,
           Reading& reused) {
  const auto ok = parser(text, reused);
  ASSERT_TRUE(ok) << ok.error().message << "\n" << text;
}

struct NamedNumber {
  std::string name;
  std::uint64_t number;
};

// Fields, each as `print_one` prints it, which gives its value.
template <class Reading, class Print>
void read_fields_back(std::uint64_t seed, Result<void> (*parser)(std::string_view, Reading&),
                      Print print_one) {
  RandomInput random(seed);
  Reading reused;
  for (int cycle = 0; cycle < 1000; ++cycle) {
    std::vector<NamedNumber> fields;
    std::string text;
    for (const std::string& name :
         random.words(1 + random.below(80), "abcdefghijklmnopqrstuvwxyz_", 24)) {
      fields.push_back({name, print_one(random, name, text)});
    }
    parse(parser, text, reused);
    ASSERT_EQ(reused.fields.size(), fields.size());
    for (const NamedNumber& field : fields) {
      EXPECT_EQ(reused.find(field.name), field.number) << field.name;
    }
  }
}

TEST(ReadBack, Meminfo) {
  read_fields_back(1, parse_meminfo, [](RandomInput& random, const std::string& name, auto& text) {
    const std::uint64_t unit = random.one_in(4) ? 1 : 1024;
    const std::uint64_t number = random.number(INT64_MAX / unit);
    text += print("%-16s%8llu%s\n", (name + ":").c_str(), wide(number), unit == 1 ? "" : " kB");
    return number * unit;
  });
}

TEST(ReadBack, Vmstat) {
  read_fields_back(4, parse_vmstat, [](RandomInput& random, const std::string& name, auto& text) {
    const std::uint64_t number = random.number(INT64_MAX);
    text += name + " " + std::to_string(number) + "\n";
    return number;
  });
}

// At most `most` zones, no two the same.
std::vector<ZoneId> zones_of(RandomInput& random, std::size_t most) {
  std::vector<ZoneId> zones;
  for (const std::string& name : random.words(1 + random.below(most), kLetters, 7)) {
    zones.push_back({static_cast<std::uint32_t>(random.below(3)), name});
  }
  return zones;
}

TEST(ReadBack, Buddyinfo) {
  RandomInput random(2);
  Buddyinfo reused;
  for (int cycle = 0; cycle < 1000; ++cycle) {
    const std::size_t orders = 1 + random.below(14);
    const auto zones = zones_of(random, 12);
    std::vector<std::vector<std::uint64_t>> blocks;
    std::string text;
    for (const ZoneId& zone : zones) {
      text += print("Node %u, zone %8s ", zone.node, zone.name.c_str());
      blocks.emplace_back();
      for (std::size_t order = 0; order < orders; ++order) {
        blocks.back().push_back(random.number((std::uint64_t{1} << 48) >> order));
        text += print("%6llu ", wide(blocks.back().back()));
      }
      text += "\n";
    }
    parse(parse_buddyinfo, text, reused);
    ASSERT_EQ(reused.zones.size(), zones.size());
    for (std::size_t i = 0; i < zones.size(); ++i) {
      EXPECT_EQ(reused.zones[i].id, zones[i]);
      const auto counts = reused.zones[i].counts();
      EXPECT_TRUE(std::equal(counts.begin(), counts.end(), blocks[i].begin(), blocks[i].end()));
    }
  }
}

std::string text_of(const Zoneinfo::Zone& zone, bool is_first, RandomInput& random) {
  std::string out = print("Node %u, zone %8s\n", zone.id.node, zone.id.name.c_str());
  if (is_first) out += "  per-node stats\n      nr_inactive_anon 4711\n      min_things 3\n";
  out += print("  pages free     %llu\n", wide(*zone.free));
  if (zone.boost) out += print("        boost    %llu\n", wide(*zone.boost));
  out += print("        min      %llu\n        low      %llu\n        high     %llu\n",
               wide(*zone.min), wide(*zone.low), wide(*zone.high));
  if (zone.promo) out += print("        promo    %llu\n", wide(*zone.promo));
  out += print("        spanned  %llu\n        present  %llu\n        managed  %llu\n",
               wide(*zone.spanned), wide(*zone.present), wide(*zone.managed));
  if (zone.cma) out += print("        cma      %llu\n", wide(*zone.cma));
  if (zone.protection) {
    out += print("        protection: (0, %llu, %llu)\n", wide(random.number(*zone.protection)),
                 wide(*zone.protection));
  }
  out += print("      nr_free_pages %llu\n      nr_zone_inactive_anon 5\n", wide(*zone.free));
  if (zone.free_cma) out += print("      nr_free_cma  %llu\n", wide(*zone.free_cma));
  return out + "  pagesets\n    cpu: 0\n              count: 3\n              high:  378\n";
}

TEST(ReadBack, Zoneinfo) {
  RandomInput random(3);
  Zoneinfo reused;
  for (int cycle = 0; cycle < 1000; ++cycle) {
    std::vector<Zoneinfo::Zone> zones;
    std::string text;
    for (const ZoneId& id : zones_of(random, 6)) {
      Zoneinfo::Zone zone;
      zone.id = id;
      zone.spanned = random.number(kMaxPages);
      zone.present = random.number(*zone.spanned);
      for (auto field : {&Zoneinfo::Zone::free, &Zoneinfo::Zone::managed}) {
        zone.*field = random.number(*zone.present);
      }
      for (auto field : {&Zoneinfo::Zone::min, &Zoneinfo::Zone::low, &Zoneinfo::Zone::high}) {
        zone.*field = random.number(kMaxPages);
      }
      for (auto field : {&Zoneinfo::Zone::cma, &Zoneinfo::Zone::free_cma}) {
        zone.*field = random.maybe(*zone.present);
      }
      for (auto field :
           {&Zoneinfo::Zone::boost, &Zoneinfo::Zone::promo, &Zoneinfo::Zone::protection}) {
        zone.*field = random.maybe(kMaxPages);
      }
      text += text_of(zone, zones.empty(), random);
      zones.push_back(zone);
    }
    parse(parse_zoneinfo, text, reused);
    ASSERT_EQ(reused.zones, zones) << text;
  }
}

TEST(ReadBack, Pressure) {
  RandomInput random(5);
  Stall reused;
  AbsentValues absent;
  for (int cycle = 0; cycle < 2000; ++cycle) {
    std::string text;
    std::array<std::uint64_t, 8> printed{};
    for (std::uint64_t& number : printed) number = random.below(10'001);
    printed[3] = random.number(INT64_MAX);
    printed[7] = random.number(INT64_MAX);
    const bool has_full = !random.one_in(3);
    for (std::size_t line = 0; line < (has_full ? 2U : 1U); ++line) {
      const std::uint64_t* const of = printed.data() + 4 * line;
      text += print("%s avg10=%llu.%02llu avg60=%llu.%02llu avg300=%llu.%02llu total=%llu\n",
                    line == 0 ? "some" : "full", wide(of[0] / 100), wide(of[0] % 100),
                    wide(of[1] / 100), wide(of[1] % 100), wide(of[2] / 100), wide(of[2] % 100),
                    wide(of[3]));
    }
    const auto ok = parse_stall(text, reused, absent);
    ASSERT_TRUE(ok) << ok.error().message << "\n" << text;
    ASSERT_EQ(reused.full.has_value(), has_full);
    for (std::size_t line = 0; line < (has_full ? 2U : 1U); ++line) {
      const StallLine& read = line == 0 ? *reused.some : *reused.full;
      EXPECT_EQ(read.total_us, printed[4 * line + 3]);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(*read.average[i], static_cast<double>(printed[4 * line + i]) / 10'000, 1e-9);
      }
    }
  }
}

// One of `shares` by its name, made where it is new.
DmabufShare& share_of(std::vector<DmabufShare>& shares, const std::string& name) {
  for (DmabufShare& share : shares) {
    if (share.name == name) return share;
  }
  return shares.emplace_back(DmabufShare{name, 0, 0});
}

TEST(ReadBack, Bufinfo) {
  RandomInput random(7);
  Bufinfo reused;
  for (int cycle = 0; cycle < 1000; ++cycle) {
    Bufinfo needed;
    std::string text =
        "\nDma-buf Objects:\nsize    \tflags   \tmode    \tcount   \texp_name\tino     \tname\n";
    for (std::uint64_t left = random.below(30); left > 0; --left) {
      const std::uint64_t size = (1 + random.number(1U << 20)) * 4096;
      const std::string exporter = random.word("ab", 3);
      text += print("%08llu\t00000002\t00080007\t%08llu\t%s\t%08llu\t%s\n", wide(size),
                    wide(1 + random.below(9)), exporter.c_str(), wide(random.number()),
                    random.one_in(2) ? "" : random.word(kLetters, 31).c_str());
      if (random.one_in(3)) text += "\twrite fence:nvhost signalled\n";
      text += "\tAttached Devices:\n";
      // One that is there twice maps the buffer once more, and it is still one buffer.
      std::vector<std::string> devices;
      for (std::uint64_t n = random.below(4); n > 0; --n) devices.push_back(random.word("xy", 2));
      for (const std::string& device : devices) text += "\t" + device + ".gpu\n";
      text += "Total " + std::to_string(devices.size()) + " devices attached\n\n";
      std::sort(devices.begin(), devices.end());
      devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
      ++needed.rows;
      needed.row_bytes += size;
      needed.largest = std::max(needed.largest, size);
      DmabufShare& by = share_of(needed.exporters, exporter);
      ++by.buffers;
      by.bytes += size;
      for (const std::string& device : devices) {
        DmabufShare& mapped = share_of(needed.devices, device + ".gpu");
        ++mapped.buffers;
        mapped.bytes += size;
      }
    }
    needed.buffers = needed.rows;
    needed.bytes = needed.row_bytes;
    text += "\nTotal " + std::to_string(needed.rows) + " objects, " +
            std::to_string(needed.row_bytes) + " bytes\n";
    const auto ok = parse_bufinfo(text, std::nullopt, reused);
    ASSERT_TRUE(ok) << ok.error().message << "\n" << text;
    const auto by_name = [](const DmabufShare& a, const DmabufShare& b) { return a.name < b.name; };
    Bufinfo sorted = reused;
    for (Bufinfo* info : {&needed, &sorted}) {
      std::sort(info->exporters.begin(), info->exporters.end(), by_name);
      std::sort(info->devices.begin(), info->devices.end(), by_name);
    }
    ASSERT_EQ(sorted, needed) << text;
  }
}

TEST(ReadBack, Iomem) {
  using namespace device;
  RandomInput random(8);
  MemoryMap reused;
  for (int cycle = 0; cycle < 1000; ++cycle) {
    MemoryMap needed;
    std::string text;
    std::uint64_t at = random.below(1U << 20) * 4096;
    const std::size_t ranges = 1 + random.below(20);
    for (std::size_t i = 0; i < ranges; ++i) {
      const Range range{at, at + (1 + random.number(1U << 18)) * 4096};
      at = range.end + (1 + random.below(1000)) * 4096;
      const bool is_ram = i == 0 || !random.one_in(3);
      if (is_ram || random.one_in(2)) {
        ASSERT_TRUE((is_ram ? needed.memory : needed.firmware).add(range));
      }
      const bool is_reserved = !is_ram && needed.firmware.overlap(range) != 0;
      text += print("%08llx-%08llx : %s\n", wide(range.begin), wide(range.end - 1),
                    is_ram        ? "System RAM"
                    : is_reserved ? "reserved"
                                  : "13e10000.host1x");
      if (is_ram)
        text += print("  %08llx-%08llx : reserved\n", wide(range.begin), wide(range.end - 1));
    }
    ASSERT_EQ(parse_iomem(text, reused), MapState::kKnown) << text;
    ASSERT_EQ(reused.memory, needed.memory) << text;
    ASSERT_EQ(reused.firmware, needed.firmware) << text;
    EXPECT_EQ(reused.malformed, 0U);
  }
}

}  // namespace
}  // namespace jetmem
