// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/text/sentence_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/text/text.h"

namespace jetmem::kernel_log {

std::string name_in_words(std::string_view name, std::size_t max_bytes) {
  std::string text(name.substr(0, max_bytes));
  std::replace_if(text.begin(), text.end(), is_blank, '_');
  // The sentence goes on with a blank.
  if (!text.empty() && text.back() == ':') text.back() = '_';
  return text;
}

std::string quote_as_printed(std::string_view quote, std::size_t max_bytes) {
  if (quote.size() <= max_bytes) return std::string(quote);
  // Not within a character.
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(quote[end]) & 0xc0U) == 0x80) --end;
  return std::string(quote.substr(0, end)) + "...";
}

std::string quote_in_words(std::string_view quote, std::size_t max_bytes) {
  std::string text(quote.substr(0, max_bytes));
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool ends = i + 1 == text.size() || is_blank(text[i + 1]);
    if (text[i] == ':' && ends) text[i] = ',';
  }
  return text;
}

void add_name(std::string& out, const Event& event, std::string_view field, std::string_view before,
              std::string_view after, std::size_t max_bytes) {
  const std::string_view value = event.text(field);
  if (value.empty()) return;
  out.append(before).append(name_in_words(value, max_bytes)).append(after);
}

std::string size_in_words(std::int64_t kib) {
  std::array<char, 48> text{};
  const auto size = static_cast<double>(kib);
  constexpr double kMiB = 1024;
  constexpr double kGiB = kMiB * 1024;
  if (size >= kGiB) {
    std::snprintf(text.data(), text.size(), "%.1f GiB", size / kGiB);
  } else if (size >= kMiB) {
    const double tenths = std::round(size / kMiB * 10);
    const bool is_whole = tenths >= 1000 || std::fmod(tenths, 10) == 0;
    std::snprintf(text.data(), text.size(), is_whole ? "%.0f MiB" : "%.1f MiB", tenths / 10);
  } else {
    std::snprintf(text.data(), text.size(), "%.0f KiB", size);
  }
  return text.data();
}

std::string process_in_words(const Event& event) {
  // TASK_COMM_LEN less its NUL: no longer text was ever a name, and none so short is a message.
  std::string comm = quote_in_words(event.text("comm"), 15);
  // A sentence may begin with it, and must not begin as a subsystem's message: "[drm] ".
  if (!comm.empty() && comm.front() == '[') comm.front() = '_';
  const auto pid = event.number("pid");
  if (comm.empty()) return pid ? "PID " + std::to_string(*pid) : "a process";
  return pid ? comm + " (PID " + std::to_string(*pid) + ")" : comm;
}

std::string order_in_words(std::int64_t order) {
  if (order == 0) return "a single page";
  if (order < 0 || order > 32) return "order " + std::to_string(order);
  // What is usual: the log does not say how large a page is.
  const std::string size = order < 8 ? std::to_string(std::int64_t{4} << order) + " KiB"
                                     : std::to_string(std::int64_t{1} << (order - 8)) + " MiB";
  return std::to_string(std::int64_t{1} << order) + " contiguous pages, " + size +
         " with pages of 4 KiB";
}

}  // namespace jetmem::kernel_log
