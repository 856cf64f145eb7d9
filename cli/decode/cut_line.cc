// SPDX-License-Identifier: Apache-2.0
#include "cli/decode/cut_line.h"

#include <algorithm>

#include "base/text/text.h"
#include "collectors/kernel_log/decode/decode.h"

namespace jetmem {
namespace {

using kernel_log::EventKind;

constexpr std::size_t kMaxText = 1024;
constexpr std::size_t kMaxWords = 64;
// So much must be left: three words, or two long ones.
constexpr std::size_t kFewWords = 3;
constexpr std::size_t kFewLetters = 16;
// Words of a name before the message, of a device say, which differ.
constexpr std::size_t kMaxNames = 4;

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

// Words without what looks like a number: "CPU3" is "CPU", "0x402" is nothing.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < text.size() && words.size() < kMaxWords) {
    if (!is_word_char(text[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && is_word_char(text[at])) ++at;
    std::string_view word = text.substr(begin, at - begin);
    if (is_digit(word.front())) continue;
    while (is_digit(word.back())) word.remove_suffix(1);
    if (word.size() > 1) words.push_back(word);
  }
  return words;
}

// How many letters of `left` agree with `known`, both read from the side that is whole; 0 when a
// word differs, or too few are left. The last word may be a part of the known one.
template <class At>
std::size_t agreement(std::size_t left_size, std::size_t known_size, At left, At known,
                      bool (*is_part)(std::string_view part, std::string_view whole)) {
  std::size_t best = 0;
  for (std::size_t skip = 0; skip <= std::min(kMaxNames, left_size); ++skip) {
    for (std::size_t over = 0; over <= std::min(kMaxNames, known_size); ++over) {
      const std::size_t n = left_size - skip;
      if (n == 0 || over + n > known_size) continue;
      std::size_t letters = 0;
      std::size_t words = 0;
      bool same = true;
      for (std::size_t i = 0; i < n && same; ++i) {
        const std::string_view mine = left(skip + i);
        const std::string_view theirs = known(over + i);
        same = mine == theirs || (i + 1 == n && is_part(mine, theirs));
        letters += mine.size();
        ++words;
      }
      if (same && (words >= kFewWords || (words > 1 && letters >= kFewLetters)))
        best = std::max(best, letters);
    }
  }
  return best;
}

// The same where the middle is missing, since who quoted the line left out client and address: the
// names in front agree, and what is left stands further on, all of it.
std::size_t agreement_without_middle(const std::vector<std::string_view>& left,
                                     const std::vector<std::string_view>& known) {
  constexpr std::size_t kFewNames = 2;
  std::size_t names = 0;
  std::size_t letters = 0;
  while (names < std::min({left.size(), known.size(), kMaxNames}) && left[names] == known[names]) {
    letters += left[names++].size();
  }
  const auto message = left.begin() + static_cast<std::ptrdiff_t>(names);
  if (names < kFewNames || left.end() - message < 2) return 0;
  const auto at = std::search(known.begin() + static_cast<std::ptrdiff_t>(names), known.end(),
                              message, left.end());
  if (at == known.end()) return 0;
  for (auto word = message; word != left.end(); ++word) letters += word->size();
  return letters;
}

}  // namespace

void CutLines::learn() {
  Lines lines(known_lines());
  std::string_view line;
  kernel_log::Event event;
  while (lines.next(line)) {
    const auto decoded = kernel_log::decode_line(line, kernel_log::Voice::kUnknown, event);
    if (decoded.piece.role == kernel_log::Role::kNothing) continue;
    // Programs share whole sentences: "terminate called after throwing an instance of ...".
    if (event.message() != nullptr && event.message()->program) continue;
    Known known{event.kind(), words_of(line)};
    for (const std::string_view word : known.words) {
      std::vector<std::uint32_t>& of = by_word_[word];
      const auto index = static_cast<std::uint32_t>(known_.size());
      if (of.empty() || of.back() != index) of.push_back(index);
    }
    known_.push_back(std::move(known));
  }
}

std::optional<EventKind> CutLines::kind_of(std::string_view text, bool headless) {
  if (known_.empty()) learn();
  text = trim(text.substr(0, kMaxText));
  while (text.ends_with("...")) text.remove_suffix(3);
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() < 2) return std::nullopt;
  // Only lines that share a whole word; the longest says most.
  const auto longest =
      std::max_element(words.begin(), words.end(), [&](std::string_view a, std::string_view b) {
        const bool known_a = by_word_.count(a) > 0;
        const bool known_b = by_word_.count(b) > 0;
        return known_a != known_b ? known_b : a.size() < b.size();
      });
  const auto found = by_word_.find(*longest);
  if (found == by_word_.end()) return std::nullopt;
  std::size_t all = 0;
  for (const std::string_view word : words) all += word.size();
  std::optional<EventKind> kind;
  std::size_t most = 0;
  for (const std::uint32_t index : found->second) {
    const Known& known = known_[index];
    const auto at = [](const std::vector<std::string_view>& list, bool back) {
      return [&list, back](std::size_t i) { return back ? list[list.size() - 1 - i] : list[i]; };
    };
    std::size_t letters = agreement(
        words.size(), known.words.size(), at(words, false), at(known.words, false),
        [](std::string_view part, std::string_view whole) { return whole.starts_with(part); });
    letters = std::max(letters, agreement_without_middle(words, known.words));
    if (headless) {
      const std::size_t end = agreement(
          words.size(), known.words.size(), at(words, true), at(known.words, true),
          [](std::string_view part, std::string_view whole) { return whole.ends_with(part); });
      // Names of drivers and devices stand in lines of all kinds: most of the line must agree.
      if (end * 3 >= all * 2) letters = std::max(letters, end);
    }
    if (letters > most) {
      most = letters;
      kind = known.kind;
    }
  }
  return kind;
}

}  // namespace jetmem
