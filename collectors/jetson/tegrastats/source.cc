// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/tegrastats/source.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 1> kTegrastatsPaths{"/jetmem/tegrastats"};

constexpr std::uint16_t kMaxGpcs = TegrastatsLine::kMaxGpcs + 1;  // and the one of GR3D2_FREQ
constexpr std::uint16_t kMaxEngines = TegrastatsLine::kMaxEngines;
constexpr std::uint16_t kTegrastatsRails = TegrastatsLine::kMaxRails;

constexpr std::array kTegrastatsMetrics{
    gauge("jetmem_tegrastats_ram_used_bytes",
          "RAM in use as tegrastats counts it: without buffers and cache. In whole MiB."),
    gauge("jetmem_tegrastats_ram_total_bytes",
          "RAM that Linux has, as tegrastats counts it. In whole MiB."),
    gauge("jetmem_tegrastats_largest_free_block_bytes",
          "Size of the largest contiguous free block of memory, 4 MiB at most. Below 4 MiB "
          "larger allocations in one piece fail: memory is fragmented, or nearly full."),
    gauge("jetmem_tegrastats_largest_free_blocks",
          "How many free blocks of the largest size there are (lfb). NOT of 4 MiB: of "
          "jetmem_tegrastats_largest_free_block_bytes, whatever that is now, so this may rise "
          "while memory gets worse."),
    gauge("jetmem_tegrastats_iram_used_bytes",
          "Memory on the chip, for video engines, that is in use (TX1, Nano)."),
    gauge("jetmem_tegrastats_iram_total_bytes",
          "Memory on the chip for video engines (TX1, Nano)."),
    gauge("jetmem_tegrastats_emc_utilization_ratio",
          "Share of the memory's bandwidth in use at its present clock, 0 to 1. 1 at a low clock "
          "is no saturation: see jetmem_tegrastats_emc_clock_hertz. Absent when tegrastats runs "
          "without root."),
    gauge("jetmem_tegrastats_emc_clock_hertz", "Clock of the external memory controller."),
    gauge("jetmem_tegrastats_gpu_utilization_ratio",
          "Share of the time in which the GPU was busy, 0 to 1 (GR3D_FREQ)."),
    gauge("jetmem_tegrastats_gpu_clock_hertz",
          "Clock of the GPU, by graphics cluster (GPC). 0: it is powered off.", {"gpc"}, kMaxGpcs),
    gauge("jetmem_tegrastats_engine_on",
          "1 while the engine (video, image, deep learning) has a clock, 0 when it is off. Some "
          "releases omit engines that are off.",
          {"engine"}, kMaxEngines),
    gauge("jetmem_tegrastats_engine_clock_hertz", "Clock of an engine that is on.", {"engine"},
          kMaxEngines),
    gauge("jetmem_tegrastats_engine_utilization_ratio",
          "Share of the time in which the engine was busy, 0 to 1. Not every release reports it.",
          {"engine"}, kMaxEngines),
    gauge("jetmem_tegrastats_rail_watts",
          "Power on the supply rail at the moment. Rails overlap: VDD_IN and VIN feed others, so "
          "never add them all up.",
          {"rail"}, kTegrastatsRails),
    gauge("jetmem_tegrastats_rail_average_watts",
          "Average power on the rail since tegrastats was started.", {"rail"}, kTegrastatsRails),
    gauge("jetmem_tegrastats_rail_max_watts",
          "Highest power on the rail since tegrastats was started (L4T 39 on).", {"rail"},
          kTegrastatsRails),
    gauge("jetmem_tegrastats_cores_off",
          "CPU cores that are switched off, usually by the power mode (nvpmodel)."),
    gauge("jetmem_tegrastats_unknown_tokens",
          "Words of the last line that jetmem does not know. Above 0 tegrastats reports "
          "something that is not shown here: see jetmem decode tegrastats."),
};
constexpr MetricTable tegrastats_metric{kTegrastatsMetrics};

constexpr std::string_view kUnknownQuality = "unknown_quality";
constexpr double kMib = 1024.0 * 1024;

// The last line that ends in a newline.
std::optional<std::string_view> last_line(std::string_view text) {
  const std::size_t end = text.rfind('\n');
  if (end == std::string_view::npos) return std::nullopt;
  text = text.substr(0, end);
  const std::size_t begin = text.rfind('\n');
  return begin == std::string_view::npos ? text : text.substr(begin + 1);
}

class Writer {
 public:
  Writer(SampleWriter& out, AbsentValues& absent) : out_(out), absent_(absent) {}

  void write(const TegrastatsLine& line) {
    if (line.ram) write_ram(*line.ram);
    if (line.iram) {
      out_.put(tegrastats_metric("jetmem_tegrastats_iram_used_bytes"), line.iram->used_kb * 1024.0);
      out_.put(tegrastats_metric("jetmem_tegrastats_iram_total_bytes"),
               line.iram->total_kb * 1024.0);
    }
    if (line.emc) {
      if (line.emc->percent && !line.emc_percent_is_known()) {
        absent_.add(kUnknownQuality);
      } else if (line.emc->percent) {
        put_percent(tegrastats_metric("jetmem_tegrastats_emc_utilization_ratio"),
                    *line.emc->percent);
      }
      if (line.emc->mhz) {
        out_.put(tegrastats_metric("jetmem_tegrastats_emc_clock_hertz"), *line.emc->mhz * 1e6);
      }
    }
    write_gpu(line);
    for (const TegrastatsLine::Engine& engine : line.engines) write_engine(engine);
    for (auto rail = line.rails.begin(); rail != line.rails.end(); ++rail) {
      if (rail->name == "NC") continue;
      const bool is_second = std::any_of(line.rails.begin(), rail,
                                         [&](const auto& one) { return one.name == rail->name; });
      if (is_second) {
        absent_.add("duplicate");
      } else {
        write_rail(*rail);
      }
    }
    if (!line.cores.empty()) {
      out_.put(tegrastats_metric("jetmem_tegrastats_cores_off"), line.cores_off());
    }
    out_.put(tegrastats_metric("jetmem_tegrastats_unknown_tokens"),
             line.unknown.size() + line.unknown_more);
    if (line.beyond_bound > 0) absent_.add("beyond_bound", line.beyond_bound);
  }

 private:
  template <class... L>
  void put_percent(const Descriptor& metric, std::uint32_t percent, const L&... labels) {
    if (percent > 100) {
      absent_.add("out_of_range");
    } else {
      out_.put(metric, percent / 100.0, labels...);
    }
  }

  void write_ram(const TegrastatsLine::Ram& ram) {
    out_.put(tegrastats_metric("jetmem_tegrastats_ram_used_bytes"), ram.used_mb * kMib);
    out_.put(tegrastats_metric("jetmem_tegrastats_ram_total_bytes"), ram.total_mb * kMib);
    if (!ram.lfb_blocks || !ram.lfb_block_kb) return;
    out_.put(tegrastats_metric("jetmem_tegrastats_largest_free_block_bytes"),
             *ram.lfb_block_kb * 1024.0);
    out_.put(tegrastats_metric("jetmem_tegrastats_largest_free_blocks"), *ram.lfb_blocks);
  }

  // GR3D2_FREQ is the clock of the second GPC; both print the load of the whole GPU.
  void write_gpu(const TegrastatsLine& line) {
    if (line.gr3d.percent && line.gr3d.quality_unknown() && *line.gr3d.percent == 0) {
      absent_.add(kUnknownQuality);
    } else if (line.gr3d.percent) {
      put_percent(tegrastats_metric("jetmem_tegrastats_gpu_utilization_ratio"), *line.gr3d.percent);
    }
    std::uint32_t gpc = 0;
    for (const TegrastatsLine::Gpu* gpu : {&line.gr3d, &line.gr3d2}) {
      for (const std::uint32_t mhz : gpu->mhz) {
        if (gpc == kMaxGpcs) return absent_.add("beyond_bound");
        out_.put(tegrastats_metric("jetmem_tegrastats_gpu_clock_hertz"), mhz * 1e6, gpc++);
      }
    }
  }

  void write_engine(const TegrastatsLine::Engine& engine) {
    const TegrastatsLine::Load& load = engine.load;
    if (load.off) {
      out_.put(tegrastats_metric("jetmem_tegrastats_engine_on"), 0, engine.name);
      return;
    }
    if (load.mhz) {
      out_.put(tegrastats_metric("jetmem_tegrastats_engine_on"), *load.mhz > 0 ? 1 : 0,
               engine.name);
      out_.put(tegrastats_metric("jetmem_tegrastats_engine_clock_hertz"), *load.mhz * 1e6,
               engine.name);
    }
    if (!load.percent) return;
    if (load.quality_unknown() && *load.percent == 0) {
      absent_.add(kUnknownQuality);
    } else {
      put_percent(tegrastats_metric("jetmem_tegrastats_engine_utilization_ratio"), *load.percent,
                  engine.name);
    }
  }

  void put_power(const Descriptor& metric, std::optional<std::int32_t> milliwatts,
                 std::string_view rail) {
    if (!milliwatts) return;
    if (*milliwatts < 0) {
      absent_.add("negative_power");
    } else {
      out_.put(metric, *milliwatts / 1e3, rail);
    }
  }
  void write_rail(const TegrastatsLine::Rail& rail) {
    put_power(tegrastats_metric("jetmem_tegrastats_rail_watts"), rail.now_mw, rail.name);
    put_power(tegrastats_metric("jetmem_tegrastats_rail_average_watts"), rail.average_mw,
              rail.name);
    put_power(tegrastats_metric("jetmem_tegrastats_rail_max_watts"), rail.max_mw, rail.name);
  }

  SampleWriter& out_;
  AbsentValues& absent_;
};

// A recorded log may be of any length, and only its last line counts.
// Gatherer::end_of(kTegrastatsPaths[0]):
constexpr std::string_view kTegrastatsEnd = "jetmem:end of /jetmem/tegrastats";
void gather_end(Gatherer& files) { files.read_ends(kTegrastatsPaths[0], 0, 64U << 10); }

}  // namespace

const SourceInfo TegrastatsSource::kInfo{
    .name = "tegrastats",
    .what =
        "what NVIDIA's tegrastats prints: largest free blocks, GPU and EMC load, engines, rails",
    .paths = kTegrastatsPaths,
    .access = Access::kProgram,
    .interval = std::chrono::seconds(10),
    .shortest_interval = std::chrono::seconds(1),
    .grant = "the right to run tegrastats; as root it also prints EMC and engines",
    .metrics = kTegrastatsMetrics,
    .gather = gather_end,
};

Result<void> parse_tegrastats(std::string_view text, Tegrastats& out) {
  // Without its newline a line was cut, perhaps within a number.
  const auto line = last_line(text);
  if (!line) {
    return fail(Errc::kMalformed,
                "expected a line of tegrastats and its end, found '" + printable(text, 60) + "'");
  }
  // The newest of several.
  std::string_view rest = *line;
  std::string_view sample = take_tegrastats_sample(rest);
  while (!rest.empty()) sample = take_tegrastats_sample(rest);
  parse_tegrastats_line(sample, out.line);
  if (out.line.fields > 0) return {};
  const auto number = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  return fail(Errc::kMalformed, "line " + std::to_string(number) +
                                    ": expected what tegrastats prints, found '" +
                                    printable(*line, 60) + "'");
}

Result<void> TegrastatsSource::parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) {
  const FileText end = snapshot.find(kTegrastatsEnd);
  const FileText file = end.ok() ? end : snapshot.find(kTegrastatsPaths[0]);
  if (file.error == ENOENT) return fail(Errc::kAbsent, "no tegrastats on this machine");
  if (!file.ok()) return tl::unexpected(file.as_error());
  return parse_tegrastats(file.text, reading_);
}

void TegrastatsSource::write(SampleWriter& out, WriteContext& context) const {
  Writer(out, context.absent).write(reading_.line);
}

}  // namespace jetmem
