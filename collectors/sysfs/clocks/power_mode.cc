// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/clocks/power_mode.h"

#include "base/text/text.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem::clocks {

std::optional<std::uint64_t> power_mode_of(std::string_view status) {
  // As nvpmodel pads it: fewer were cut.
  constexpr std::size_t kDigits = 4;
  if (!take_prefix(status, "pmode:")) return std::nullopt;
  const std::string_view digits = status;
  if (status.empty() || !is_digit(status.front())) return std::nullopt;
  const auto mode = take_u64(status);
  const std::size_t count = digits.size() - status.size();
  if (!mode || count < kDigits || (count > kDigits && digits[0] == '0')) return std::nullopt;
  if (!status.empty() && !is_blank(status.front()) && status.front() != '\n') return std::nullopt;
  return mode;
}

std::string_view power_mode_name(std::string_view conf, std::uint64_t mode) {
  Lines lines(conf);
  std::string_view line;
  while (lines.next(line)) {
    line = trim(line);
    // "< POWER_MODEL ID=0 NAME=MAXN >": without its end it was cut.
    if (!take_prefix(line, "<") || !line.ends_with(">")) continue;
    line.remove_suffix(1);
    if (take_word(line) != "POWER_MODEL") continue;
    std::optional<std::uint64_t> id;
    std::string_view name;
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
      if (take_prefix(word, "ID=")) {
        id = parse_u64(word);
      } else if (take_prefix(word, "NAME=")) {
        name = word;
      }
    }
    if (id == mode && is_name(name)) return name;
  }
  return {};
}

std::optional<std::uint64_t> count_of_cpus(std::string_view text) {
  constexpr std::uint64_t kMaxCpus = 65536;
  const auto line = one_value(text);
  if (!line || line->empty()) return std::nullopt;
  std::string_view rest = *line;
  std::uint64_t count = 0;
  std::uint64_t next = 0;  // the kernel lists them in order
  for (;;) {
    if (rest.empty() || !is_digit(rest.front())) return std::nullopt;
    const auto first = take_u64(rest);
    auto last = first;
    if (take_prefix(rest, "-")) {
      if (rest.empty() || !is_digit(rest.front())) return std::nullopt;
      last = take_u64(rest);
    }
    if (!first || !last || *first < next || *last < *first || *last >= kMaxCpus) {
      return std::nullopt;
    }
    count += *last - *first + 1;
    next = *last + 1;
    if (rest.empty()) return count;
    if (!take_prefix(rest, ",")) return std::nullopt;
  }
}

}  // namespace jetmem::clocks
