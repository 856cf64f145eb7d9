// SPDX-License-Identifier: Apache-2.0
#include "report/doctor/next_command.h"

#include <algorithm>
#include <array>
#include <vector>

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 14> kLooking{
    "alerts",  "boots", "cma",   "diff",    "doctor", "events",  "fragmentation",
    "history", "map",   "rules", "sources", "status", "thermal", "top"};
// Options of theirs without a value.
constexpr std::array<std::string_view, 2> kFlags{"--faults", "--gpu"};

constexpr std::string_view kEndOfCommand = ",;:.)";

struct Word {
  std::string_view text;
  bool ends = false;  // a punctuation mark follows
};

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> out;
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(" (");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const std::size_t last = word.find_last_not_of(kEndOfCommand);
    const bool ends = last + 1 < word.size();
    word = word.substr(0, last + 1);
    out.push_back({word, ends});
  }
  return out;
}

}  // namespace

std::span<const std::string_view> looking_commands() { return kLooking; }

bool is_plain_word(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:,@/+-").find(c) != std::string_view::npos;
  });
}

std::string command_in(std::string_view remedy) {
  const std::vector<Word> words = words_of(remedy);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].text != "jetmem" || words[i].ends) continue;
    if (std::find(kLooking.begin(), kLooking.end(), words[i + 1].text) == kLooking.end()) continue;
    std::string out = i > 0 && words[i - 1].text == "sudo" && !words[i - 1].ends ? "sudo " : "";
    out.append("jetmem ").append(words[i + 1].text);
    for (std::size_t at = i + 1; !words[at].ends && at + 1 < words.size(); ++at) {
      const Word& option = words[at + 1];
      if (std::find(kFlags.begin(), kFlags.end(), option.text) != kFlags.end()) {
        out.append(" ").append(option.text);
        continue;
      }
      if (!option.text.starts_with("--") || option.ends || !is_plain_word(option.text) ||
          at + 2 >= words.size() || !is_plain_word(words[at + 2].text)) {
        break;
      }
      out.append(" ").append(option.text).append(" ").append(words[at + 2].text);
      ++at;
    }
    return out;
  }
  return {};
}

}  // namespace jetmem
