// SPDX-License-Identifier: Apache-2.0
#include "report/exposition/exposition.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_set>

namespace jetmem {
namespace {

// The longest is "-2.2250738585072014e-308", 24 characters; one more for the newline.
constexpr std::size_t kMaxNumber = 32;

struct Entry {
  const SampleTable::Slot* slot;
  std::uint32_t value;
};

void append_help(std::string& out, std::string_view help) {
  for (const char c : help) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

void append_header(std::string& out, const SampleTable::Slot& slot) {
  out.append("# HELP ").append(headed_family(slot)).append(" ");
  append_help(out, help_of(slot));
  out.append("\n# TYPE ").append(headed_family(slot)).append(" ");
  out.append(type_name(type_of(slot))).append("\n");
}

char* copy(char* at, std::string_view text) {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

char* write_number(char* at, double value) {
  // Up to here every whole number is its own double, and bytes and counters read as such.
  constexpr double kExact = 9007199254740992.0;
  if (std::fabs(value) < kExact) {
    const auto whole = static_cast<std::int64_t>(value);
    if (static_cast<double>(whole) == value) return std::to_chars(at, at + kMaxNumber, whole).ptr;
  } else if (std::isnan(value)) {
    return copy(at, "NaN");
  } else if (std::isinf(value)) {
    return copy(at, value > 0 ? "+Inf" : "-Inf");
  }
  return std::to_chars(at, at + kMaxNumber, value).ptr;
}

// What stands in front of a number: header lines, if it opens a family, and the series' key.
char* copy_piece(char* at, std::string_view piece, TextFormat format) {
  constexpr std::string_view kHelp = "# HELP ";
  constexpr std::string_view kType = "\n# TYPE ";
  constexpr std::string_view kTotal = "_total";
  if (format == TextFormat::kPlain || !piece.starts_with(kHelp)) return copy(at, piece);
  piece.remove_prefix(kHelp.size());
  std::string_view family = piece.substr(0, piece.find(' '));
  std::string_view help = piece.substr(family.size(), piece.find('\n') - family.size());
  const std::string_view rest = piece.substr(2 * family.size() + help.size() + kType.size());
  // Every counter, and nothing else, has this suffix.
  if (family.ends_with(kTotal)) family.remove_suffix(kTotal.size());
  at = copy(copy(at, kHelp), family);
  for (auto end = help.find('"'); end != std::string_view::npos; end = help.find('"')) {
    at = copy(copy(at, help.substr(0, end)), "\\\"");
    help.remove_prefix(end + 1);
  }
  at = copy(at, help);
  return copy(copy(copy(at, kType), family), rest);
}

}  // namespace

std::string help_of(const SampleTable::Slot& slot) {
  const Descriptor& d = *slot.descriptor;
  std::string help(d.help);
  if (d.is_pattern()) {
    const std::string star = slot.labels[0];
    for (auto at = help.find('*'); at != std::string::npos; at = help.find('*', at + star.size())) {
      help.replace(at, 1, star);
    }
  }
  if (slot.is_companion) {
    const bool is_min = d.worst == Worst::kMin;
    help.insert(0, is_min ? "Lowest value within the last minute: "
                          : "Highest value within the last minute: ");
  }
  return help;
}

MetricType type_of(const SampleTable::Slot& slot) {
  // The extreme of a minute goes up and down, whatever it is the extreme of.
  return slot.is_companion ? MetricType::kGauge : slot.descriptor->type;
}

std::string_view headed_family(const SampleTable::Slot& slot) {
  const std::string_view family = slot.family;
  return type_of(slot) == MetricType::kHistogram ? family.substr(0, family.rfind('_')) : family;
}

std::string_view type_name(MetricType type) {
  constexpr std::array<std::string_view, 3> kNames{"gauge", "counter", "histogram"};
  return kNames[static_cast<std::size_t>(type)];
}

Layout::Layout(const SampleTable& table) : shape_(table.shape()) {
  std::vector<Entry> entries;
  std::unordered_set<std::string_view> keys;
  for (const SampleTable::Section& section : table.sections()) {
    for (const SampleTable::Slot& slot : section.slots) {
      const auto value = static_cast<std::uint32_t>(value_count_++);
      if (slot.is_duplicate) continue;
      // A section knows its own duplicates only.
      if (keys.insert(slot.key).second) {
        entries.push_back({&slot, value});
      } else {
        ++hidden_;
      }
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return headed_family(*a.slot) < headed_family(*b.slot);
  });

  std::string_view family;
  series_.reserve(entries.size());
  for (const Entry& entry : entries) {
    // The first series of a family speaks for it, even should a later one be described otherwise.
    if (headed_family(*entry.slot) != family) {
      family = headed_family(*entry.slot);
      append_header(text_, *entry.slot);
    }
    text_.append(entry.slot->key).append(" ");
    series_.push_back({static_cast<std::uint32_t>(text_.size()), entry.value});
  }
  text_.shrink_to_fit();
  quotes_ = static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '"'));
}

std::string_view Layout::key(std::size_t i) const {
  const std::size_t begin = i == 0 ? 0 : series_[i - 1].end;
  const std::string_view piece = std::string_view(text_).substr(begin, series_[i].end - begin);
  // Behind the header lines, without the blank in front of the number. Newlines in labels are
  // escaped.
  const std::size_t line = piece.rfind('\n');
  const std::string_view key = line == std::string_view::npos ? piece : piece.substr(line + 1);
  return key.substr(0, key.size() - 1);
}

void fill_page(const SampleTable& table, Nanoseconds now, std::uint64_t cycle, Page& page) {
  if (!page.layout || page.layout->shape() != table.shape()) {
    page.layout = std::make_shared<const Layout>(table);
  }
  page.values.resize(page.layout->value_count());
  auto at = page.values.begin();
  for (const SampleTable::Section& section : table.sections()) {
    at = std::copy(section.values.begin(), section.values.end(), at);
  }
  page.taken = now;
  page.cycle = cycle;
}

void render_text(const Page& page, TextFormat format, std::string& out) {
  if (!page.layout) return;
  const std::vector<Layout::Series>& series = page.layout->series();
  const std::string_view text = page.layout->text();
  const std::size_t begin = out.size();
  const std::size_t escapes = format == TextFormat::kOpenMetrics ? page.layout->quotes() : 0;
  out.resize(begin + text.size() + escapes + series.size() * kMaxNumber);
  char* at = out.data() + begin;
  std::size_t from = 0;
  for (const Layout::Series& each : series) {
    at = copy_piece(at, text.substr(from, each.end - from), format);
    at = write_number(at, page.values[each.value]);
    *at++ = '\n';
    from = each.end;
  }
  out.resize(static_cast<std::size_t>(at - out.data()));
}

}  // namespace jetmem
