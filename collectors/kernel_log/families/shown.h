// Untrusted words of an event, for the middle of a sentence.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "collectors/kernel_log/event.h"

namespace jetmem::kernel_log {

// Kernel messages are told by their ": "; without it, text out of a message cannot turn the
// sentence around it into another message.
inline std::string shown(std::string_view text, std::size_t max_bytes = 40) {
  std::string out(text.substr(0, max_bytes));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool ends = i + 1 == out.size() || is_blank(out[i + 1]);
    if (out[i] == ':' && ends) out[i] = ',';
  }
  return out;
}

// `before`, the field, `after`; nothing when the event lacks the field.
inline void add_text(std::string& out, const Event& event, std::string_view name,
                     std::string_view before, std::string_view after = {},
                     std::size_t max_bytes = 40) {
  const std::string_view value = event.text(name);
  if (value.empty()) return;
  out.append(before).append(shown(value, max_bytes)).append(after);
}

inline void add_number(std::string& out, const Event& event, std::string_view name,
                       std::string_view before, std::string_view after = {}) {
  const auto value = event.number(name);
  if (!value) return;
  out.append(before).append(std::to_string(*value)).append(after);
}

}  // namespace jetmem::kernel_log
