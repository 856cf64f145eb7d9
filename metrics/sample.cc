// SPDX-License-Identifier: Apache-2.0
#include "metrics/sample.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxLabelBytes = 120;
constexpr std::string_view kTotal = "_total";

constexpr std::array<std::string_view, 11> kUnits{"bytes",  "seconds", "celsius", "ratio",
                                                  "blocks", "pages",   "order",   "watts",
                                                  "volts",  "amperes", "hertz"};

std::string expand(std::string_view pattern, std::string_view star) {
  std::string out(pattern);
  const auto at = out.find('*');
  if (at != std::string::npos) out.replace(at, 1, star);
  return out;
}

// A metric name may hold letters, digits and '_' only: "Active(anon)" becomes "Active_anon".
std::string metric_part(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMaxLabelBytes)) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c);
    if (good) {
      out.push_back(c);
    } else if (!out.empty() && out.back() != '_') {
      out.push_back('_');
    }
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.empty() ? "_" : out;
}

std::string shown(const LabelValue& label) {
  return label.is_number() ? std::to_string(label.number())
                           : printable(label.text(), kMaxLabelBytes);
}

void name_slot(SampleTable::Slot& slot) {
  const Descriptor& d = *slot.descriptor;
  const std::size_t first = d.is_pattern() ? 1 : 0;
  slot.family = std::string(d.name);
  if (first == 1) slot.family = expand(d.name, metric_part(slot.labels[0]));
  if (slot.is_companion) slot.family = worst_name(slot.family, d.worst);

  std::vector<std::pair<std::string_view, std::string_view>> labels;
  for (std::size_t i = first; i < slot.labels.size(); ++i) {
    labels.emplace_back(d.labels[i - first], slot.labels[i]);
  }
  std::sort(labels.begin(), labels.end());
  slot.key = slot.family;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    slot.key += i == 0 ? '{' : ',';
    slot.key.append(labels[i].first).append("=\"");
    append_label_value(slot.key, labels[i].second);
    slot.key += '"';
  }
  if (!labels.empty()) slot.key += '}';
}

// One slot in Section::identities; behind it its labels, and bytes up to the next multiple of its
// alignment. A label is its size and text, or kNumber and the number.
struct Identity {
  const Descriptor* descriptor;
  std::int32_t worst;
  std::uint32_t size_and_count;  // bytes of all, and in the bits that its alignment leaves, labels
};
constexpr std::uint32_t kNumber = UINT32_MAX;
constexpr std::uint32_t kCountBits = alignof(Identity) - 1;
static_assert(kMaxLabels <= kCountBits);

template <class T>
void append_bytes(std::vector<char>& out, const T& value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

template <class T>
T take_bytes(const char*& at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  at += sizeof value;
  return value;
}

void append_identity(std::vector<char>& out, const Descriptor& descriptor, std::int32_t worst,
                     const LabelValue* labels, std::size_t count) {
  const std::size_t begin = out.size();
  out.resize(begin + sizeof(Identity));
  for (std::size_t i = 0; i < count; ++i) {
    if (labels[i].is_number()) {
      append_bytes(out, kNumber);
      append_bytes(out, labels[i].number());
    } else {
      append_bytes(out, static_cast<std::uint32_t>(labels[i].text().size()));
      out.insert(out.end(), labels[i].text().begin(), labels[i].text().end());
    }
  }
  out.resize((out.size() + kCountBits) & ~std::size_t{kCountBits});
  const Identity identity{&descriptor, worst,
                          static_cast<std::uint32_t>(out.size() - begin + count)};
  std::memcpy(out.data() + begin, &identity, sizeof identity);
}

// Whether the labels that begin at `at` are these.
bool are_labels(const char* at, const LabelValue* labels, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto size = take_bytes<std::uint32_t>(at);
    if (labels[i].is_number()) {
      if (size != kNumber || take_bytes<std::int64_t>(at) != labels[i].number()) return false;
      continue;
    }
    const std::string_view text = labels[i].text();
    if (size != text.size() || text != std::string_view(at, size)) return false;
    at += size;
  }
  return true;
}

}  // namespace

std::string_view unit_of(std::string_view name) {
  if (name.ends_with(kTotal)) name.remove_suffix(kTotal.size());
  const auto at = name.rfind('_');
  if (at == std::string_view::npos) return {};
  const std::string_view last = name.substr(at + 1);
  return std::find(kUnits.begin(), kUnits.end(), last) == kUnits.end() ? std::string_view() : last;
}

std::string worst_name(std::string_view name, Worst worst) {
  const std::string_view unit = unit_of(name);
  std::string out(name);
  const std::string_view which = worst == Worst::kMin ? "_min_1m" : "_max_1m";
  const std::size_t at = unit.empty() ? out.size() : out.size() - unit.size() - 1;
  out.insert(at, which);
  return out;
}

void append_label_value(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

double SampleTable::WorstWindow::update(Worst worst, Nanoseconds now, double value) {
  const std::int64_t id = now / kBucket;
  if (!used_) {
    ids_.fill(std::numeric_limits<std::int64_t>::min());
    used_ = true;
  }
  const auto better = [&](double a, double b) {
    return worst == Worst::kMin ? std::min(a, b) : std::max(a, b);
  };
  const auto slot = static_cast<std::size_t>(id) % kBuckets;
  values_[slot] = ids_[slot] == id ? better(values_[slot], value) : value;
  ids_[slot] = id;
  double extreme = value;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (ids_[i] > id - static_cast<std::int64_t>(kBuckets) && ids_[i] <= id) {
      extreme = better(extreme, values_[i]);
    }
  }
  return extreme;
}

std::size_t SampleTable::add_section(std::string name) {
  sections_.push_back({});
  sections_.back().name = std::move(name);
  return sections_.size() - 1;
}

void SampleTable::clear(std::size_t index) {
  Section& section = sections_[index];
  if (section.slots.empty()) return;
  section.slots.clear();
  section.values.clear();
  section.windows.clear();
  section.identities.clear();
  section.duplicates = 0;
  ++section.shape_changes;
  ++shape_;
}

double SampleTable::value_of(std::string_view key) const {
  for (const Section& section : sections_) {
    for (std::size_t i = 0; i < section.slots.size(); ++i) {
      if (section.slots[i].key == key && !section.slots[i].is_duplicate) return section.values[i];
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void SampleWriter::store(const Descriptor& descriptor, double value, const LabelValue* labels,
                         std::size_t count) {
  if (!rebuilding_ && identity_ < section_.identities.size()) {
    const char* at = section_.identities.data() + identity_;
    const auto known = take_bytes<Identity>(at);
    if (known.descriptor == &descriptor && (known.size_and_count & kCountBits) == count &&
        are_labels(at, labels, count)) {
      identity_ += known.size_and_count & ~kCountBits;
      section_.values[cursor_++] = value;
      if (known.worst < 0) return;
      section_.values[cursor_++] = section_.windows[static_cast<std::size_t>(known.worst)].update(
          descriptor.worst, now_, value);
      return;
    }
  }
  append(descriptor, value, labels, count);
}

void SampleWriter::cut() {
  rebuilding_ = true;
  const auto from = section_.slots.begin() + static_cast<std::ptrdiff_t>(cursor_);
  old_tail_.assign(std::make_move_iterator(from), std::make_move_iterator(section_.slots.end()));
  old_windows_ = section_.windows;
  section_.slots.erase(from, section_.slots.end());
  section_.values.resize(cursor_);
  section_.identities.resize(identity_);
}

void SampleWriter::append(const Descriptor& descriptor, double value, const LabelValue* labels,
                          std::size_t count) {
  // Before anything is cut: a family that stands at its bound is no change of shape.
  const auto of_family = std::count_if(
      section_.slots.begin(), section_.slots.begin() + static_cast<std::ptrdiff_t>(cursor_),
      [&](const SampleTable::Slot& s) { return s.descriptor == &descriptor && !s.is_companion; });
  if (of_family >= descriptor.max_series) {
    ++section_.dropped;
    return;
  }
  if (!rebuilding_) cut();
  SampleTable::Slot slot;
  slot.descriptor = &descriptor;
  for (std::size_t i = 0; i < count; ++i) slot.labels.push_back(shown(labels[i]));
  name_slot(slot);
  const bool has_worst = descriptor.worst != Worst::kNone;
  if (has_worst) slot.worst = static_cast<std::int32_t>(section_.windows.size());
  append_identity(section_.identities, descriptor, slot.worst, labels, count);
  identity_ = section_.identities.size();
  if (!has_worst) {
    section_.slots.push_back(std::move(slot));
    section_.values.push_back(value);
    cursor_ = section_.slots.size();
    return;
  }
  SampleTable::Slot companion = slot;
  companion.is_companion = true;
  companion.worst = -1;
  name_slot(companion);
  // A series that only moved keeps its last minute.
  SampleTable::WorstWindow window;
  for (const SampleTable::Slot& old : old_tail_) {
    if (old.worst >= 0 && old.key == slot.key) {
      window = old_windows_[static_cast<std::size_t>(old.worst)];
      break;
    }
  }
  section_.windows.push_back(window);
  section_.slots.push_back(std::move(slot));
  section_.slots.push_back(std::move(companion));
  section_.values.push_back(value);
  section_.values.push_back(section_.windows.back().update(descriptor.worst, now_, value));
  cursor_ = section_.slots.size();
}

void SampleWriter::finish() {
  if (std::exchange(finished_, true)) return;
  if (!rebuilding_ && cursor_ == section_.slots.size()) return;
  if (!rebuilding_) cut();  // fewer samples than in the last cycle

  // Windows of slots that are gone would stay behind: keep only those in use.
  std::vector<SampleTable::WorstWindow> windows;
  std::unordered_set<std::string_view> keys;
  section_.duplicates = 0;
  char* identity = section_.identities.data();
  for (SampleTable::Slot& slot : section_.slots) {
    if (slot.worst >= 0) {
      windows.push_back(section_.windows[static_cast<std::size_t>(slot.worst)]);
      slot.worst = static_cast<std::int32_t>(windows.size() - 1);
    }
    if (!slot.is_companion) {
      Identity known{};
      std::memcpy(&known, identity, sizeof known);
      known.worst = slot.worst;
      std::memcpy(identity, &known, sizeof known);
      identity += known.size_and_count & ~kCountBits;
    }
    slot.is_duplicate = !keys.insert(slot.key).second;
    if (slot.is_duplicate) ++section_.duplicates;
  }
  section_.windows = std::move(windows);
  ++section_.shape_changes;
  ++table_.shape_;
}

}  // namespace jetmem
