// SPDX-License-Identifier: Apache-2.0
#include "cli/decode/tegrastats_text.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/text/json_integers.h"
#include "base/text/text.h"
#include "cli/draw/number_text.h"
#include "cli/draw/terminal.h"
#include "cli/text/events/event_text.h"

namespace jetmem {
namespace {

constexpr std::size_t kIndent = 15;
constexpr std::uint32_t kWholeBlockKb = 4096;

// Rounds to a tenth where that is all that matters.
std::string number_text(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// Three significant digits.
std::string watts(double value) {
  const double size = value < 0 ? -value : value;
  return number_text(value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0) + " W";
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

// "  label        item, item,\n               item\n": breaks between items only.
std::string row(std::string_view label, const std::vector<std::string>& items,
                std::string_view between = ", ") {
  std::string out("  ");
  out.append(label).resize(kIndent, ' ');
  std::size_t column = kIndent;
  const auto width = static_cast<std::size_t>(terminal_width());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool last = i + 1 == items.size();
    if (column > kIndent && column + items[i].size() + (last ? 0 : 1) > width) {
      while (out.back() == ' ') out.pop_back();
      out.append("\n").append(kIndent, ' ');
      column = kIndent;
    }
    out.append(items[i]);
    column += items[i].size();
    if (last) break;
    out.append(between);
    column += between.size();
  }
  while (out.back() == ' ') out.pop_back();
  return out.append("\n");
}

// A text that breaks at its blanks.
std::string prose(std::string_view label, std::string_view text) {
  std::string out = wrapped(text, kIndent);
  std::string head("  ");
  head.append(label).resize(kIndent, ' ');
  return out.replace(0, std::min(kIndent, out.size()), head);
}

std::string of_total(std::uint32_t used, std::uint32_t total, std::string_view unit) {
  std::string text = std::to_string(used) + " of " + std::to_string(total);
  text.append(" ").append(unit).append(" used");
  if (total > 0) text.append(" (").append(number_text(100.0 * used / total, 0)).append(" %)");
  return text;
}

std::uint64_t unused_mb(const TegrastatsLine::Ram& ram) {
  return ram.total_mb > ram.used_mb ? ram.total_mb - ram.used_mb : 0;
}

// What is not used includes page cache: of it alone no share says much.
bool has_few_blocks(const TegrastatsLine::Ram& ram) {
  constexpr std::uint64_t kEnoughMb = 256;
  const std::uint64_t blocks_mb = std::uint64_t{*ram.lfb_blocks} * kWholeBlockKb / 1024;
  return blocks_mb < kEnoughMb && blocks_mb * 20 < unused_mb(ram);
}

// Then small blocks are no wonder.
bool is_nearly_full(const TegrastatsLine::Ram& ram) { return unused_mb(ram) * 10 < ram.total_mb; }

// The chip behind it has no thermometer, only alarms.
bool is_constant(const TegrastatsLine::Zone& zone) {
  return zone.name == "PMIC" && (zone.celsius == 50.0 || zone.celsius == 100.0);
}

constexpr std::string_view kRemarkTexts[] = {
    // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one text
    "the largest free block is below 4 MiB: memory is fragmented or full of page cache. A larger "
    "block takes compaction or reclaim, and may be refused.",
    "the largest free block is below 4 MiB and RAM is nearly full: memory is short, and perhaps "
    "fragmented too.",
    "few blocks of 4 MiB are free: what else is not used is page cache or in pieces. Large buffers "
    "may be slow to get, or refused. On the device: sudo jetmem make-room "
    "1GiB; sudo jetmem compact (1GiB: the size that a program requests).",
    "EMC 0% without a clock could not be read; the load is not 0. tegrastats needs root for it.",
    "a load without a clock is unreliable: as root tegrastats prints the clock too.",
    "this release prints the GPU's clocks but no load.",
    "-256C: sensor powered off, along with what it measures.",
    "PMIC at 50 or 100 C is a constant of the driver, not a measurement.",
    "a rail below 0 is powered off: the figure is its meter's offset.",
    "NC: a channel of the power meter that is not connected.",
    "averages (and highest values, where printed) are since tegrastats was started.",
    "the line has more items than are kept: the rest is counted, not shown.",
};

}  // namespace

void TegrastatsText::remark(Remark remark) {
  if (logged_[remark]) return;
  logged_[remark] = true;
  now_.push_back(remark);
}

std::string TegrastatsText::memory(const TegrastatsLine& line) {
  std::string out;
  if (line.ram) {
    out += prose("RAM", of_total(line.ram->used_mb, line.ram->total_mb, "MiB"));
    if (line.ram->lfb_blocks && line.ram->lfb_block_kb) {
      const std::uint32_t kb = *line.ram->lfb_block_kb;
      std::string text = "largest free block " + bytes_text(std::uint64_t{kb} << 10) + ", ";
      text.append(std::to_string(*line.ram->lfb_blocks)).append(" of that size");
      out += prose("lfb", text);
      if (kb < kWholeBlockKb) {
        remark(is_nearly_full(*line.ram) ? kShort : kFragmented);
      } else if (has_few_blocks(*line.ram)) {
        remark(kFewBlocks);
      }
    }
  }
  if (line.swap) {
    std::string text = of_total(line.swap->used_mb, line.swap->total_mb, "MiB");
    if (line.swap->cached_mb) {
      text.append(", ").append(std::to_string(*line.swap->cached_mb)).append(" MiB of it cached");
    }
    out += prose("swap", text);
  }
  if (line.iram) {
    std::string text = of_total(line.iram->used_kb, line.iram->total_kb, "KiB");
    if (line.iram->lfb_kb) {
      text.append(", largest free block ")
          .append(bytes_text(std::uint64_t{*line.iram->lfb_kb} << 10));
    }
    out += prose("IRAM", text);
  }
  return out;
}

std::string TegrastatsText::cores(const TegrastatsLine& line) const {
  if (line.cores.empty()) return {};
  std::vector<std::string> items;
  bool clocks = false;
  for (std::size_t i = 0; i < line.cores.size(); ++i) {
    const TegrastatsLine::Core& core = line.cores[i];
    std::string item = padded(std::to_string(i), 2) + ":";
    item += core.off ? "  off" : padded(std::to_string(core.percent.value_or(0)), 4) + "%";
    if (core.mhz) {
      item += padded(std::to_string(*core.mhz), 5);
      clocks = true;
    }
    item.resize(std::max<std::size_t>(item.size(), 16), ' ');
    items.push_back(std::move(item));
  }
  std::string head = counted(line.cores.size(), "core");
  if (line.cores_off() > 0) head += ", " + std::to_string(line.cores_off()) + " off";
  head += clocks ? "; load of each and its clock in MHz" : "; load of each";
  std::string out = prose("CPU", head);
  return out + row("", items, "");
}

std::string TegrastatsText::load(const TegrastatsLine::Load& load) {
  if (load.off) return "off";
  std::string text;
  if (load.percent) text = std::to_string(*load.percent) + "%";
  if (load.mhz) text += (text.empty() ? "" : " at ") + std::to_string(*load.mhz) + " MHz";
  if (load.quality_unknown()) remark(kNoClock);
  return text;
}

std::string TegrastatsText::gpu(const TegrastatsLine::Gpu& gpu) {
  if (gpu.off) return "off";
  std::string text = gpu.percent ? std::to_string(*gpu.percent) + "% busy" : "";
  for (std::size_t i = 0; i < gpu.mhz.size(); ++i) {
    const std::string_view before = i > 0 ? ", " : text.empty() ? "" : " at ";
    text.append(before).append(std::to_string(gpu.mhz[i]));
  }
  if (!gpu.mhz.empty()) text += " MHz";
  if (gpu.quality_unknown()) remark(kNoClock);
  if (!gpu.percent) remark(kNoLoad);
  return text;
}

std::string TegrastatsText::loads(const TegrastatsLine& line) {
  std::string out;
  if (line.emc) {
    if (line.emc->percent && !line.emc_percent_is_known()) {
      out += prose("EMC", "could not be read");
      remark(kEmcUnreadable);
    } else {
      std::string text = load(*line.emc);
      if (line.emc->percent) text.insert(text.find('%') + 1, " of the bandwidth");
      out += prose("EMC", text);
    }
  }
  if (line.gr3d.present) out += prose("GPU", gpu(line.gr3d));
  if (line.gr3d2.present) out += prose("GPU, 2nd GPC", gpu(line.gr3d2));
  return out;
}

std::string TegrastatsText::engines(const TegrastatsLine& line) {
  std::string out;
  std::vector<std::string> on;
  std::vector<std::string> off;
  for (const TegrastatsLine::Engine& engine : line.engines) {
    if (engine.load.off) {
      off.push_back(engine.name);
    } else {
      on.push_back(engine.name + " " + load(engine.load));
    }
  }
  if (!on.empty()) out += row("engines", on);
  if (!off.empty()) out += row("engines off", off);
  if (line.mts) {
    out += prose("MTS", std::to_string(line.mts->fg_percent) + "% foreground, " +
                            std::to_string(line.mts->bg_percent) +
                            "% background translation of CPU code");
  }
  if (line.edp_limit_mhz) {
    const std::string mhz = std::to_string(*line.edp_limit_mhz);
    out += prose("EDP limit", *line.edp_limit_mhz == 0
                                  ? "0: the CPU's current does not cap it, it seems"
                                  : "the CPU's current caps it at " + mhz + " MHz");
  }
  return out;
}

std::string TegrastatsText::temperatures(const TegrastatsLine& line) {
  std::vector<std::string> items;
  for (const TegrastatsLine::Zone& zone : line.zones) {
    std::string item = zone.name + " ";
    item += zone.celsius ? number_text(*zone.celsius) : "off";
    if (zone.max_celsius) item += " (highest " + number_text(*zone.max_celsius) + ")";
    items.push_back(std::move(item));
    if (!zone.celsius) remark(kNoPower);
    if (is_constant(zone)) remark(kConstant);
  }
  return items.empty() ? std::string() : row("degrees C", items);
}

std::string TegrastatsText::power(const TegrastatsLine& line) {
  std::size_t width = 0;
  for (const TegrastatsLine::Rail& rail : line.rails) width = std::max(width, rail.name.size());
  std::string out;
  for (const TegrastatsLine::Rail& rail : line.rails) {
    std::string text = rail.name;
    text.resize(width, ' ');
    text += padded(watts(rail.now_mw / 1e3), 11);
    if (rail.average_mw) text += ", average" + padded(watts(*rail.average_mw / 1e3), 9);
    if (rail.max_mw) text += ", highest" + padded(watts(*rail.max_mw / 1e3), 9);
    out += row(out.empty() ? "power" : "", {text});
    if (rail.average_mw) remark(kAveraged);
    if (rail.now_mw < 0) remark(kNegative);
    if (rail.name == "NC") remark(kNotConnected);
  }
  return out;
}

std::string TegrastatsText::unknown(const TegrastatsLine& line) {
  if (line.beyond_bound > 0 || line.unknown_cut > 0) remark(kNotKept);
  if (line.unknown.empty()) return {};
  std::vector<std::string> items;
  for (const std::string& word : line.unknown) items.push_back(printable(word, 60));
  if (line.unknown_more > 0) items.push_back("and " + counted(line.unknown_more, "word") + " more");
  return row("not known", items, " ");
}

void TegrastatsText::remember(const TegrastatsLine& line) {
  ++lines_;
  if (line.fields == 0) ++foreign_;
  unknown_words_ += line.unknown.size() + line.unknown_more;
  if (line.ram) {
    ram_total_ = line.ram->total_mb;
    ram_least_ = std::min(ram_least_.value_or(line.ram->used_mb), line.ram->used_mb);
    ram_most_ = std::max(ram_most_.value_or(line.ram->used_mb), line.ram->used_mb);
    if (const auto kb = line.ram->lfb_block_kb) {
      smallest_lfb_kb_ = std::min(smallest_lfb_kb_.value_or(*kb), *kb);
    }
  }
  for (const TegrastatsLine::Zone& zone : line.zones) {
    if (!zone.celsius || is_constant(zone)) continue;
    if (!hottest_ || *zone.celsius > hottest_->value) hottest_ = Peak{zone.name, *zone.celsius};
  }
  for (const TegrastatsLine::Rail& rail : line.rails) {
    if (rail.name == "NC" || rail.now_mw < 0) continue;
    const auto known = std::find_if(powers_.begin(), powers_.end(),
                                    [&](const Peak& peak) { return peak.name == rail.name; });
    if (known != powers_.end()) {
      known->value = std::max(known->value, rail.now_mw / 1e3);
    } else if (powers_.size() < TegrastatsLine::kMaxRails) {
      powers_.push_back({rail.name, rail.now_mw / 1e3});
    }
  }
}

std::string TegrastatsText::block(const TegrastatsLine& line, std::uint64_t number) {
  remember(line);
  now_.clear();
  std::string out = "line " + std::to_string(number);
  if (!line.time.empty()) out += " [" + line.time + "]";
  if (line.fields == 0) {
    out += ": not tegrastats output\n";
    return out + unknown(line);
  }
  out += "\n";
  out += memory(line);
  out += cores(line);
  out += loads(line);
  out += engines(line);
  out += temperatures(line);
  out += power(line);
  out += unknown(line);
  static_assert(std::size(kRemarkTexts) == kRemarks);
  for (const Remark each : now_) {
    out += wrapped("(" + std::string(kRemarkTexts[each]) + ")", 4);
  }
  return out;
}

std::string TegrastatsText::summary() const {
  std::string text = counted(lines_ + further_lines_, "line") + " read";
  if (foreign_ > 0) {
    text += foreign_ == lines_ ? ", none of them tegrastats output"
                               : ", " + std::to_string(foreign_) + " of them not tegrastats output";
  }
  if (ram_least_) {
    text += "; RAM used " + std::to_string(*ram_least_);
    if (ram_most_ != ram_least_) text += " to " + std::to_string(*ram_most_);
    text += " of " + std::to_string(ram_total_) + " MiB";
  }
  if (smallest_lfb_kb_) {
    text += "; largest free block ";
    if (lines_ - foreign_ > 1) text += "never below ";
    text += bytes_text(std::uint64_t{*smallest_lfb_kb_} << 10);
  }
  if (hottest_) text += "; hottest " + hottest_->name + ", " + number_text(hottest_->value) + " C";
  if (!powers_.empty()) {
    text += "; highest power";
    const auto top =
        std::max_element(powers_.begin(), powers_.end(),
                         [](const Peak& a, const Peak& b) { return a.value < b.value; });
    text += " " + watts(top->value) + " on " + top->name;
  }
  if (unknown_words_ > 0) text += "; " + counted(unknown_words_, "word") + " not known";
  return wrapped(text + ".", 0);
}

namespace {

using Json = nlohmann::ordered_json;

template <class Value>
void put(Json& json, const char* name, const std::optional<Value>& value) {
  if (value) json[name] = *value;
}

Json load_json(const TegrastatsLine::Load& load) {
  if (load.off) return "off";
  Json json = Json::object();
  put(json, "percent", load.percent);
  put(json, "mhz", load.mhz);
  if (load.quality_unknown()) json["quality"] = "unknown";
  return json;
}

Json gpu_json(const TegrastatsLine::Gpu& gpu) {
  if (gpu.off) return "off";
  Json json = Json::object();
  put(json, "percent", gpu.percent);
  if (!gpu.mhz.empty()) json["mhz"] = gpu.mhz;
  if (gpu.quality_unknown()) json["quality"] = "unknown";
  return json;
}

Json core_json(const TegrastatsLine::Core& core) {
  if (core.off) return nullptr;
  Json json = Json::object();
  put(json, "percent", core.percent);
  put(json, "mhz", core.mhz);
  return json;
}

void put_memory(Json& json, const TegrastatsLine& line) {
  if (line.ram) {
    Json& ram = json["ram"];
    ram = {{"used_mb", line.ram->used_mb}, {"total_mb", line.ram->total_mb}};
    put(ram, "lfb_blocks", line.ram->lfb_blocks);
    put(ram, "lfb_block_kb", line.ram->lfb_block_kb);
  }
  if (line.swap) {
    Json& swap = json["swap"];
    swap = {{"used_mb", line.swap->used_mb}, {"total_mb", line.swap->total_mb}};
    put(swap, "cached_mb", line.swap->cached_mb);
  }
  if (line.iram) {
    Json& iram = json["iram"];
    iram = {{"used_kb", line.iram->used_kb}, {"total_kb", line.iram->total_kb}};
    put(iram, "lfb_kb", line.iram->lfb_kb);
  }
}

void put_zones(Json& json, const TegrastatsLine& line) {
  for (const TegrastatsLine::Zone& zone : line.zones) {
    if (zone.celsius) json["temperatures"][zone.name] = *zone.celsius;
  }
  for (const TegrastatsLine::Zone& zone : line.zones) {
    if (zone.max_celsius) json["temperatures_max"][zone.name] = *zone.max_celsius;
  }
}

}  // namespace

nlohmann::ordered_json tegrastats_json(const TegrastatsLine& line) {
  Json json = Json::object();
  if (!line.time.empty()) json["time"] = line.time;
  put_memory(json, line);
  for (const TegrastatsLine::Core& core : line.cores) json["cpu"].push_back(core_json(core));
  if (line.emc) json["emc"] = load_json(*line.emc);
  if (line.gr3d.present) json["gr3d"] = gpu_json(line.gr3d);
  if (line.gr3d2.present) json["gr3d2"] = gpu_json(line.gr3d2);
  for (const TegrastatsLine::Engine& engine : line.engines) {
    json["engines"][engine.name] = load_json(engine.load);
  }
  if (line.mts) {
    json["mts"] = {{"fg_percent", line.mts->fg_percent}, {"bg_percent", line.mts->bg_percent}};
  }
  put(json, "edp_limit_mhz", line.edp_limit_mhz);
  put_zones(json, line);
  for (const TegrastatsLine::Rail& rail : line.rails) {
    Json& item = json["rails"].emplace_back(Json{{"name", rail.name}, {"now_mw", rail.now_mw}});
    put(item, "avg_mw", rail.average_mw);
    put(item, "max_mw", rail.max_mw);
  }
  json["unknown"] = line.unknown;
  if (line.unknown_more > 0) json["unknown_more"] = line.unknown_more;
  if (line.unknown_cut > 0) json["unknown_cut"] = line.unknown_cut;
  if (line.beyond_bound > 0) json["beyond_bound"] = line.beyond_bound;
  return json;
}

std::string one_line(nlohmann::ordered_json json) {
  use_integers(json);
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace jetmem
