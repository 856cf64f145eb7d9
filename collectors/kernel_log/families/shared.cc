#include "collectors/kernel_log/families/shared.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace jetmem::kernel_log {

std::string_view without_vendor_prefix(std::string_view text) {
  Scan scan(text);
  scan.blanks();
  if (!scan.literal("[")) return text;
  if (!scan.number() || !scan.literal(":")) return text;
  const auto inside = scan.until("] ");
  if (!inside) return text;
  const std::size_t colon = inside->rfind(':');
  if (colon == std::string_view::npos || !parse_u64(trim(inside->substr(colon + 1)))) return text;
  return scan.rest();
}

std::string_view device_before(std::string_view prefix) {
  const std::size_t colon = prefix.find(": ");
  if (colon == std::string_view::npos) return {};
  const std::string_view head = prefix.substr(0, colon);
  const std::size_t blank = head.rfind(' ');
  if (blank == std::string_view::npos || head == "(NULL device *)") return {};
  return head.substr(blank + 1);
}

void set_sized(Event& event, std::string_view name, std::string_view text, std::string_view key,
               std::string_view unit) {
  Scan scan(text);
  if (!scan.past(key)) return;
  const auto value = scan.number();
  if (value && *value >= 0 && scan.literal(unit)) event.set_number(name, *value);
}

std::string short_name(std::string_view name) {
  std::string text(name.substr(0, 40));
  std::replace_if(text.begin(), text.end(), is_blank, '_');
  return text;
}

std::string size_in_words(std::int64_t kib) {
  std::array<char, 48> text{};
  const auto size = static_cast<double>(kib);
  constexpr double kMiB = 1024;
  constexpr double kGiB = kMiB * 1024;
  if (size >= kGiB) {
    std::snprintf(text.data(), text.size(), "%.1f GiB", size / kGiB);
  } else if (size >= kMiB) {
    std::snprintf(text.data(), text.size(), "%.0f MiB", size / kMiB);
  } else {
    std::snprintf(text.data(), text.size(), "%.0f KiB", size);
  }
  return text.data();
}

std::string process_in_words(const Event& event) {
  // TASK_COMM_LEN less its NUL: no longer text was ever a name.
  const std::string comm(event.text("comm").substr(0, 15));
  const auto pid = event.number("pid");
  if (comm.empty()) return pid ? "PID " + std::to_string(*pid) : "a process";
  return pid ? comm + " (PID " + std::to_string(*pid) + ")" : comm;
}

std::string order_in_words(std::int64_t order) {
  if (order == 0) return "order 0: a single page";
  const std::string name = "order " + std::to_string(order);
  if (order < 0 || order > 32) return name;
  return name + ": " + std::to_string(std::int64_t{1} << order) + " pages in a row";
}

}  // namespace jetmem::kernel_log
