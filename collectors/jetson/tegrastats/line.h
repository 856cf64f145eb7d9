// SPDX-License-Identifier: Apache-2.0
// One line of NVIDIA's tegrastats, of any Jetson from TK1 (L4T 21) to Thor (L4T 38, 39).
//
// The program is closed: what stands here was read off its lines and its manual ("tegrastats
// Utility" in the Jetson Linux guides). A line is fields with blanks between, in no fixed order,
// each of which may be missing: what a line has depends on the SoC, the release, on root, and on
// what is switched on at the moment.
//
//   time      MM-DD-YYYY HH:MM:SS                  local; since L4T 34
//   RAM       RAM a/bMB [(lfb NxSMB)]              S in MB or kB: N free blocks of the largest size
//                                                  S that is free now, at most 4 MB
//   SWAP      SWAP a/bMB [(cached cMB)]
//   IRAM      IRAM a/bkB[(lfb ckB)]                root; TX1, Nano
//   cores     CPU [core,core,...] or cpu [core,core,...][@MHz]   core: p%@MHz, p%, off
//   EMC       EMC_FREQ or EMC, with a load
//   GPU       GR3D_FREQ or GR3D, with a load or p%@[MHz,MHz,...] or @[MHz,...]: a clock for each
//   GPC;
//             GR3D2_FREQ: the second GPC on early Orin releases
//   engine    NAME or NAME_FREQ, with a load
//   load      off, MHz, @MHz, p%@MHz, p%
//   MTS       MTS fg p% bg p%                      TX2, Xavier
//   EDP       EDP limit MHz                        TK1, TX1: what the current allows the CPU
//   zone      name@C or name@C/C                   below -200 (-256C): the sensor has no power. The
//                                                  second, since L4T 39: the highest so far
//   rail      NAME a/b, NAME amW/bmW, NAME amW/bmW/cmW    now, average and (L4T 39) highest since
//                                                  tegrastats started; may be below 0 without power
// Programs that reprint the line, and people, put spaces around '/', '@' and 'x' and before a unit:
// these are passed over. A word for memory (RAM, SWAP, CMA, ...) is never a rail, nor is what a
// unit of size stands behind ("512/1024 MB"). "MB" are MiB, "kB" KiB. One name may be core list,
// zone, rail and engine in the same line
// ("GPU@32C ... GPU 0/0"), and NC, a rail that is not connected, may stand twice.
//
// A percentage without a clock is of unknown quality: without root, EMC_FREQ prints 0% for what it
// cannot read. See emc_percent_is_known(). Percentages of cores never need root (/proc/stat).
//
// There are no errors. A word that is in no field that is known stands in `unknown`; so does one
// of a field that the line already had (rails aside), and a number beyond any sense.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace jetmem {

struct TegrastatsLine {
  // What is beyond is counted in beyond_bound and unknown_more.
  static constexpr std::size_t kMaxCores = 256;
  static constexpr std::size_t kMaxGpcs = 16;
  static constexpr std::size_t kMaxEngines = 64;
  static constexpr std::size_t kMaxRails = 64;
  static constexpr std::size_t kMaxZones = 64;
  static constexpr std::size_t kMaxUnknown = 64;
  static constexpr std::size_t kMaxUnknownBytes = 120;  // of one word

  using Number = std::optional<std::uint32_t>;  // absent: not printed

  struct Ram {
    std::uint32_t used_mb = 0;
    std::uint32_t total_mb = 0;
    Number lfb_blocks;
    Number lfb_block_kb;
    bool operator==(const Ram&) const = default;
  };
  struct Swap {
    std::uint32_t used_mb = 0;
    std::uint32_t total_mb = 0;
    Number cached_mb;
    bool operator==(const Swap&) const = default;
  };
  struct Iram {
    std::uint32_t used_kb = 0;
    std::uint32_t total_kb = 0;
    Number lfb_kb;
    bool operator==(const Iram&) const = default;
  };
  struct Core {
    bool off = false;
    Number percent;
    Number mhz;
    bool operator==(const Core&) const = default;
  };
  struct Load {
    bool off = false;
    Number percent;
    Number mhz;
    bool quality_unknown() const { return percent && !mhz; }
    bool operator==(const Load&) const = default;
  };
  struct Gpu {
    bool present = false;
    bool off = false;
    Number percent;
    std::vector<std::uint32_t> mhz;  // of each GPC, or one for all
    bool quality_unknown() const { return percent && mhz.empty(); }
    bool operator==(const Gpu&) const = default;
  };
  struct Engine {
    std::string name;  // as printed, without _FREQ
    Load load;
    bool operator==(const Engine&) const = default;
  };
  struct Mts {
    std::uint32_t fg_percent = 0;
    std::uint32_t bg_percent = 0;
    bool operator==(const Mts&) const = default;
  };
  struct Zone {
    std::string name;
    std::optional<double> celsius;      // absent: the sensor has no power
    std::optional<double> max_celsius;  // absent too where none is printed
    bool operator==(const Zone&) const = default;
  };
  struct Rail {
    std::string name;
    std::int32_t now_mw = 0;
    std::optional<std::int32_t> average_mw;
    std::optional<std::int32_t> max_mw;
    bool operator==(const Rail&) const = default;
  };

  std::string time;  // as printed; empty: none
  std::optional<Ram> ram;
  std::optional<Swap> swap;
  std::optional<Iram> iram;
  std::vector<Core> cores;
  std::optional<Load> emc;
  Gpu gr3d;
  Gpu gr3d2;
  std::vector<Engine> engines;  // as printed, no name twice
  std::optional<Mts> mts;
  Number edp_limit_mhz;
  std::vector<Zone> zones;  // as printed, no name twice
  std::vector<Rail> rails;  // as printed

  std::vector<std::string> unknown;  // words, in their order, each cut to kMaxUnknownBytes
  std::uint64_t unknown_more = 0;    // words beyond kMaxUnknown
  std::uint64_t unknown_cut = 0;     // of those in `unknown`
  std::uint64_t beyond_bound = 0;    // cores, clocks, engines, rails and zones omitted
  std::uint64_t fields = 0;          // that were understood, the time aside
  std::uint64_t known_words = 0;     // that are in a field

  // False for EMC_FREQ 0% without a clock: it could not be read, and is no load of 0.
  bool emc_percent_is_known() const {
    return emc && emc->percent && !(emc->quality_unknown() && *emc->percent == 0);
  }
  std::size_t cores_off() const;

  bool operator==(const TegrastatsLine&) const = default;
};

// `line` without its newline, of any content.
void parse_tegrastats_line(std::string_view line, TegrastatsLine& out);
// The first sample of a line; the others stay in it. Two are in one line where a line's end was
// lost.
std::string_view take_tegrastats_sample(std::string_view& line);

}  // namespace jetmem
