// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/tegrastats/line.h"

#include <algorithm>
#include <array>
#include <utility>

#include "collectors/jetson/tegrastats/values.h"

namespace jetmem {
namespace {

using tegrastats::at_word_end;
using tegrastats::is_letter;
using tegrastats::is_space;
using tegrastats::skip_spaces;
using tegrastats::take_next_word;
using tegrastats::take_number;
using tegrastats::word;

constexpr std::size_t kMaxTegrastatsName = 64;
constexpr double kNoPower = -200;  // degrees; -256 is printed
constexpr std::string_view kFreq = "_FREQ";

// Of these a number alone is a clock and a percentage alone a load. Each may have an index behind.
constexpr std::array<std::string_view, 17> kEngines{
    "APE", "AVP", "VDE", "MSENC", "NVENC", "NVDEC", "NVJPG", "OFA",  "VIC",
    "PVA", "DLA", "ISP", "VI",    "NVCSI", "SE",    "TSEC",  "NVDLA"};

// Words for memory: what stands behind one is a size, never a power.
constexpr std::array<std::string_view, 14> kMemoryWords{
    "RAM", "SWAP", "IRAM", "VRAM",     "MEM",  "MEMORY", "LFB",
    "CMA", "ZRAM", "GART", "CARVEOUT", "FREE", "CACHED", "NVMAP"};

bool is_memory_word(std::string_view name) {
  const auto same = [](char a, char b) { return (a >= 'a' && a <= 'z' ? a - 'a' + 'A' : a) == b; };
  return std::any_of(kMemoryWords.begin(), kMemoryWords.end(), [&](std::string_view word) {
    return std::equal(name.begin(), name.end(), word.begin(), word.end(), same);
  });
}

bool is_known_engine(std::string_view name) {
  while (!name.empty() && is_digit(name.back())) name.remove_suffix(1);
  return std::find(kEngines.begin(), kEngines.end(), name) != kEngines.end();
}

bool is_name_char(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}

bool is_upper(std::string_view name) {
  return std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

// The engine's name, where it ends in _FREQ.
std::optional<std::string_view> stem_of(std::string_view name) {
  if (name.size() <= kFreq.size() || name.substr(name.size() - kFreq.size()) != kFreq) {
    return std::nullopt;
  }
  return name.substr(0, name.size() - kFreq.size());
}

// "10-26-2025", "05:10:54": digits where `like` has '0'.
bool looks_like(std::string_view word, std::string_view like) {
  if (word.size() != like.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (like[i] == '0' ? !is_digit(word[i]) : word[i] != like[i]) return false;
  }
  return true;
}

bool is_iso_time(std::string_view word) {
  return looks_like(word.substr(0, 19), "0000-00-00T00:00:00") ||
         looks_like(word.substr(0, 19), "0000-00-00 00:00:00");
}

// "Nov 28 18:49:14 orin tegrastats[812]:", as the journal puts it in front; its time.
std::string_view take_journal_prefix(std::string_view& line) {
  constexpr std::string_view kProgram = " tegrastats[";
  const std::size_t at = line.find(kProgram);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + kProgram.size());
  if (!take_u64(rest) || !take_prefix(rest, "]:")) return {};
  const std::size_t host = line.substr(0, at).find_last_of(' ');
  const std::string_view time = host == std::string_view::npos ? "" : line.substr(0, host);
  line = rest;
  return time.substr(0, kMaxTegrastatsName);
}

std::uint64_t words_in(std::string_view text) {
  std::uint64_t words = 0;
  bool inside = false;
  for (const char c : text) {
    if (!is_space(c) && !inside) ++words;
    inside = !is_space(c);
  }
  return words;
}

class TegrastatsParser {
 public:
  TegrastatsParser(std::string_view line, TegrastatsLine& out) : at_(line), out_(out) {}

  void run() {
    for (skip_spaces(at_); !at_.empty(); skip_spaces(at_)) {
      if (!take_field()) take_unknown();
    }
  }

 private:
  void take_unknown() {
    const std::string_view word = tegrastats::word(at_);
    at_.remove_prefix(word.size());
    if (out_.unknown.size() == TegrastatsLine::kMaxUnknown) {
      ++out_.unknown_more;
      return;
    }
    out_.unknown.emplace_back(word.substr(0, TegrastatsLine::kMaxUnknownBytes));
    if (word.size() > TegrastatsLine::kMaxUnknownBytes) ++out_.unknown_cut;
  }

  // Where a field was taken to its end: `after` is where the line goes on.
  bool elapsed(std::string_view after) {
    const std::size_t size = at_.size() - after.size();
    out_.known_words += words_in(at_.substr(0, size));
    ++out_.fields;
    at_ = after;
    return true;
  }

  bool take_field() {
    const std::string_view line = at_;
    if (is_digit(line.front()) && take_time()) return true;
    // Names of zones have dashes ("thermal-fan-est") and dots; those of carrier boards' rails may.
    std::size_t end = 0;
    while (end < line.size() && is_name_char(line[end])) ++end;
    if (end == 0 || end > kMaxTegrastatsName) return false;
    const std::string_view name = line.substr(0, end);
    std::string_view behind = at_;
    behind.remove_prefix(end);
    if (take_prefix(behind, "@")) {
      skip_spaces(behind);
      return take_zone(name, behind);
    }
    if (is_memory_word(name)) take_prefix(behind, ":");
    if (!is_letter(name.front()) || !at_word_end(behind)) return false;
    skip_spaces(behind);
    if (behind.empty()) return false;
    if (std::string_view zone = behind; take_prefix(zone, "@")) {
      skip_spaces(zone);
      if (take_zone(name, zone)) return true;
    }
    if (take_named(name, behind) || take_rail(name, behind)) return true;
    return !is_emc(name) && gpu_of(name) == nullptr && take_engine(name, behind);
  }

  bool take_time() {
    std::string_view at = at_;
    const std::string_view date = word(at);
    if (!out_.time.empty()) return false;
    at.remove_prefix(date.size());
    // As people put it in front: "2025-10-26T05:10:54+00:00".
    if (is_iso_time(date)) {
      out_.time = date;
      ++out_.known_words;
      at_ = at;
      return true;
    }
    if (!looks_like(date, "00-00-0000") && !looks_like(date, "0000-00-00")) return false;
    skip_spaces(at);
    const std::string_view clock = word(at);
    if (!looks_like(clock, "00:00:00")) return false;
    at.remove_prefix(clock.size());
    out_.time.append(date).append(" ").append(clock);
    out_.known_words += 2;
    at_ = at;
    return true;
  }

  bool take_zone(std::string_view name, std::string_view at) {
    if (has_name(out_.zones, name)) return false;
    const auto celsius = tegrastats::take_celsius(at);
    if (!celsius) return false;
    std::optional<double> highest;
    if (take_prefix(at, "/")) {
      skip_spaces(at);
      highest = tegrastats::take_celsius(at);
      if (!highest) return false;
    }
    if (!at_word_end(at)) return false;
    if (out_.zones.size() == TegrastatsLine::kMaxZones) {
      ++out_.beyond_bound;
      return elapsed(at);
    }
    TegrastatsLine::Zone& zone = out_.zones.emplace_back();
    zone.name = name;
    if (*celsius > kNoPower) zone.celsius = celsius;
    if (highest && *highest > kNoPower) zone.max_celsius = highest;
    return elapsed(at);
  }

  template <class List>
  static bool has_name(const List& list, std::string_view name) {
    return std::ranges::any_of(list, [&](const auto& each) { return each.name == name; });
  }
  static bool is_emc(std::string_view name) {
    return name == "EMC_FREQ" || name == "EMC" || name == "emc";
  }
  TegrastatsLine::Gpu* gpu_of(std::string_view name) {
    if (name == "GR3D_FREQ" || name == "GR3D") return &out_.gr3d;
    return name == "GR3D2_FREQ" || name == "GR3D2" ? &out_.gr3d2 : nullptr;
  }

  // Fields that go by their name. One that the line had already is none.
  bool take_named(std::string_view name, std::string_view at) {
    if (name == "RAM") return take_once(out_.ram, at, tegrastats::take_ram);
    if (name == "SWAP") return take_once(out_.swap, at, tegrastats::take_swap);
    if (name == "IRAM") return take_once(out_.iram, at, tegrastats::take_iram);
    if (name == "CPU" || name == "cpu") return take_cores(at);
    if (is_emc(name)) return take_emc(at);
    if (TegrastatsLine::Gpu* gpu = gpu_of(name)) return take_gpu(*gpu, at);
    if (name == "MTS") return take_mts(at);
    return name == "EDP" && take_edp(at);
  }

  template <class Value, class Take>
  bool take_once(std::optional<Value>& out, std::string_view at, const Take& take) {
    if (out) return false;
    const auto value = take(at);
    if (!value || !at_word_end(at)) return false;
    out = *value;
    return elapsed(at);
  }

  bool take_cores(std::string_view at) {
    if (!out_.cores.empty()) return false;
    std::uint64_t beyond = 0;
    if (!tegrastats::take_cores(at, out_.cores, beyond) || !at_word_end(at)) {
      out_.cores.clear();
      return false;
    }
    out_.beyond_bound += beyond;
    return elapsed(at);
  }

  bool take_emc(std::string_view at) {
    if (out_.emc) return false;
    std::uint64_t beyond = 0;
    const auto form = tegrastats::take_load(at, nullptr, beyond);
    if (!form || !at_word_end(at)) return false;
    out_.emc = form->load;
    return elapsed(at);
  }

  bool take_gpu(TegrastatsLine::Gpu& gpu, std::string_view at) {
    if (gpu.present) return false;
    std::uint64_t beyond = 0;
    const auto form = tegrastats::take_load(at, &gpu.mhz, beyond);
    if (!form || !at_word_end(at)) {
      gpu = {};
      return false;
    }
    gpu.present = true;
    gpu.off = form->load.off;
    gpu.percent = form->load.percent;
    out_.beyond_bound += beyond;
    return elapsed(at);
  }

  bool take_mts(std::string_view at) {
    if (out_.mts || !take_next_word(at, "fg")) return false;
    skip_spaces(at);
    const auto fg = tegrastats::take_percent(at);
    if (!fg || !at_word_end(at) || !take_next_word(at, "bg")) return false;
    skip_spaces(at);
    const auto bg = tegrastats::take_percent(at);
    if (!bg || !at_word_end(at)) return false;
    out_.mts = {*fg, *bg};
    return elapsed(at);
  }

  bool take_edp(std::string_view at) {
    if (out_.edp_limit_mhz || !take_next_word(at, "limit")) return false;
    skip_spaces(at);
    const auto mhz = take_number(at, tegrastats::kMaxMhz);
    if (!mhz || !at_word_end(at)) return false;
    out_.edp_limit_mhz = mhz;
    return elapsed(at);
  }

  bool take_rail(std::string_view name, std::string_view at) {
    if (is_memory_word(name)) return false;
    const auto form = tegrastats::take_rail(at);
    if (!form || !at_word_end(at)) return false;
    // "a/b" behind a word of prose is no power.
    if (!form->has_unit && !is_upper(name)) return false;
    if (out_.rails.size() == TegrastatsLine::kMaxRails) {
      ++out_.beyond_bound;
      return elapsed(at);
    }
    out_.rails.push_back({std::string(name), form->now_mw, form->average_mw, form->max_mw});
    return elapsed(at);
  }

  bool take_engine(std::string_view name, std::string_view at) {
    const auto stem = stem_of(name);
    const bool known = stem || is_known_engine(name);
    std::uint64_t beyond = 0;
    const auto form = tegrastats::take_load(at, nullptr, beyond);
    if (!form || !at_word_end(at)) return false;
    const TegrastatsLine::Load& load = form->load;
    // "p%@MHz" and "@MHz" can be nothing else; the rest only behind a name that makes it one.
    if (load.off && !known && !is_upper(name)) return false;
    if ((form->bare || load.quality_unknown()) && !known) return false;
    const std::string_view engine_name = stem.value_or(name);
    if (has_name(out_.engines, engine_name)) return false;
    if (out_.engines.size() == TegrastatsLine::kMaxEngines) {
      ++out_.beyond_bound;
      return elapsed(at);
    }
    out_.engines.push_back({std::string(engine_name), load});
    return elapsed(at);
  }

  std::string_view at_;
  TegrastatsLine& out_;
};

}  // namespace

std::size_t TegrastatsLine::cores_off() const {
  return static_cast<std::size_t>(
      std::count_if(cores.begin(), cores.end(), [](const Core& core) { return core.off; }));
}

void parse_tegrastats_line(std::string_view line, TegrastatsLine& out) {
  out = {};
  out.time = take_journal_prefix(line);
  TegrastatsParser(line, out).run();
}

std::string_view take_tegrastats_sample(std::string_view& line) {
  constexpr std::string_view kRam = "RAM ";
  const auto begins = [&](std::size_t at) {
    return (at == 0 || is_space(line[at - 1])) && at + kRam.size() < line.size() &&
           is_digit(line[at + kRam.size()]);
  };
  std::size_t found = 0;
  std::size_t at = line.find(kRam);
  for (; at != std::string_view::npos; at = line.find(kRam, at + 1)) {
    if (begins(at) && ++found == 2) break;
  }
  if (at == std::string_view::npos) return std::exchange(line, {});
  // Its time stands before it: words of digits, dashes and colons.
  const auto is_stamp = [](char c) { return is_digit(c) || is_space(c) || c == '-' || c == ':'; };
  std::size_t end = at;
  while (end > 0 && is_stamp(line[end - 1])) --end;
  while (end < at && !is_space(line[end])) ++end;
  const std::string_view sample = line.substr(0, end);
  line.remove_prefix(end);
  return sample;
}

}  // namespace jetmem
