// Lines of dev_err(): "DRIVER DEVICE: message".
#pragma once

#include <optional>
#include <string_view>

#include "collectors/kernel_log/scan.h"

namespace jetmem::kernel_log {

// A device's or client's name as the kernel gives them, and nothing that could pass for more.
inline bool is_kernel_name(std::string_view text) {
  if (text.empty() || text.size() > 80) return false;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !is_digit(c) && std::string_view("_-.:@,/+").find(c) == std::string_view::npos) {
      return false;
    }
  }
  return text.back() != ':';
}

// Words of a message: a name of an error, say.
inline bool is_kernel_words(std::string_view text) {
  if (text.empty() || text.size() > 160) return false;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !is_digit(c) &&
        std::string_view(" _-.,/()[]").find(c) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

// The device, when the line is `driver`'s ("arm-smmu "): leaves the message.
inline std::optional<std::string_view> take_device(Scan& scan, std::string_view driver) {
  scan.blanks();
  if (!scan.literal(driver)) return std::nullopt;
  const std::string_view name = scan.up_to(" \t");
  if (name.size() < 2 || name.back() != ':' || !is_kernel_name(name.substr(0, name.size() - 1))) {
    return std::nullopt;
  }
  scan.blanks();
  // A tab as /dev/kmsg writes it.
  while (scan.literal("\\x09")) scan.blanks();
  return name.substr(0, name.size() - 1);
}

// Nothing that a number or a name would go on with.
inline bool at_word_end(const Scan& scan) {
  if (scan.at_end()) return true;
  const char c = scan.rest().front();
  return !Scan::is_hex_digit(c) && !(c >= 'g' && c <= 'z') && !(c >= 'G' && c <= 'Z') && c != '_';
}

}  // namespace jetmem::kernel_log
