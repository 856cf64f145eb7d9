// The head that dev_err() and its like put before a message: "tegra-vi4 15700000.vi: ".
#pragma once

#include <optional>
#include <string_view>

#include "base/text.h"

namespace jetmem::kernel_log {

struct DevLine {
  std::string_view driver;  // empty when the line has only one word there
  std::string_view dev;
  std::string_view text;
};

// A head is one or two words before the first ": "; names may contain colons ("2-1:1.0").
inline std::optional<DevLine> dev_line(std::string_view line) {
  constexpr std::size_t kMaxHead = 96;
  const std::size_t end = line.substr(0, kMaxHead).find(": ");
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  DevLine out;
  out.dev = line.substr(0, end);
  out.text = line.substr(end + 2);
  if (const std::size_t blank = out.dev.find(' '); blank != std::string_view::npos) {
    out.driver = out.dev.substr(0, blank);
    out.dev.remove_prefix(blank + 1);
    if (out.driver.empty()) return std::nullopt;
  }
  if (out.dev.empty() || out.dev.find_first_of(" \t") != std::string_view::npos) {
    return std::nullopt;
  }
  skip_blanks(out.text);
  return out;
}

}  // namespace jetmem::kernel_log
