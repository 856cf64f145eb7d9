// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/nvmap/tables.h"

namespace jetmem::nvmap {
namespace {

// Above what any machine has; keeps sums of a table far from 64 bits.
constexpr std::uint64_t kMostHeapBytes = std::uint64_t{1} << 50;

// Takes the last word of the text.
std::string_view take_trailing_word(std::string_view& text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  std::size_t at = text.size();
  while (at > 0 && !is_blank(text[at - 1])) --at;
  const std::string_view word = text.substr(at);
  text = text.substr(0, at);
  return word;
}

bool all_digits(std::string_view word) {
  for (const char c : word) {
    if (!is_digit(c)) return false;
  }
  return !word.empty();
}

bool is_hex(std::string_view word) {
  return !word.empty() &&
         word.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace

std::string_view trim_blanks(std::string_view text) {
  skip_blanks(text);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> size_of(std::string_view word) {
  const auto number = take_u64(word);
  if (!number) return std::nullopt;
  unsigned shift = 10;
  if (word == "M") {
    shift = 20;
  } else if (word == "G") {
    shift = 30;
  } else if (!word.empty() && word != "K") {
    return std::nullopt;
  }
  if (*number > kMostHeapBytes >> shift) return std::nullopt;
  return *number << shift;
}

std::optional<ClientRow> client_row(std::string_view line) {
  const auto bytes = size_of(take_trailing_word(line));
  if (!bytes) return std::nullopt;
  std::string_view word = take_trailing_word(line);
  // A size in front of the size: PSS. It has a unit, a pid has none.
  if (!all_digits(word) && size_of(word)) word = take_trailing_word(line);
  std::string_view digits = word;
  const auto pid = all_digits(word) ? take_u64(digits) : std::nullopt;
  if (!pid || *pid > UINT32_MAX) return std::nullopt;

  // "%-18s %18s": what stands in front of the pid, the client's name first.
  constexpr std::size_t kColumn = 18;
  ClientRow row{{}, static_cast<std::uint32_t>(*pid), *bytes};
  if (line.size() > kColumn && is_blank(line[kColumn])) {
    row.process = trim_blanks(line.substr(kColumn));
  } else {
    if (take_word(line).empty()) return std::nullopt;
    row.process = trim_blanks(line);
  }
  return row;
}

std::optional<std::uint64_t> total_row(std::string_view line) {
  if (take_word(line) != "total") return std::nullopt;
  const auto bytes = size_of(take_trailing_word(line));
  // Sums of other columns (PSS) may stand before it, names and pids may not.
  while (!trim_blanks(line).empty()) {
    if (!size_of(take_trailing_word(line))) return std::nullopt;
  }
  return bytes;
}

std::optional<OrphanRow> orphan_row(std::string_view line) {
  if (!is_hex(take_word(line))) return std::nullopt;
  const auto bytes = size_of(take_word(line));
  if (!bytes || !is_hex(take_word(line))) return std::nullopt;
  std::size_t counts = 0;
  std::string_view word = take_word(line);
  std::string_view next = take_word(line);
  for (; !next.empty(); next = take_word(line)) {
    if (!all_digits(word)) return std::nullopt;
    ++counts;
    word = next;
  }
  if (counts < 3 || counts > 5 || word.empty()) return std::nullopt;
  const bool is_shown = is_hex(word) && word.find_first_not_of('0') != std::string_view::npos;
  return OrphanRow{*bytes, is_shown ? word : std::string_view()};
}

std::string_view TableLines::fault(const Table& table, std::string_view header_begins) {
  if (table.head.empty()) return "empty";
  if (table.head.back() != '\n' || (table.cut && (table.end.empty() || table.end.back() != '\n'))) {
    return "cut off: no newline at its end";
  }
  std::string_view header = table.head;
  header = header.substr(0, header.find('\n'));
  const bool has_size = header.find(" SIZE") != std::string_view::npos;
  if (take_word(header) != header_begins || !has_size) return "no header in its first line";
  return {};
}

bool TableLines::next_row(std::string_view& line) {
  if (!next(line)) return false;
  // A row begins with the client's name, which is no process's.
  if (line.empty() || is_wide_enough(line)) return true;
  const Lines behind_first = lines_;
  std::string_view row = line;
  std::string_view more;
  while (!is_wide_enough(row) && lines_.next(more)) {
    row = {row.data(), static_cast<std::size_t>(more.data() + more.size() - row.data())};
  }
  if (row.size() == width_ || row.size() == width_ + 1) {
    line = row;
  } else {
    lines_ = behind_first;
  }
  return true;
}

}  // namespace jetmem::nvmap
