// SPDX-License-Identifier: Apache-2.0
// What the numbers of programs' messages mean.
#include <algorithm>
#include <array>
#include <cerrno>

#include "collectors/kernel_log/catalogue/hooks.h"

namespace jetmem::kernel_log::hooks {

// A program that may not open a device, or has too many open, lacks no memory.
bool reason_of_errno(Event& event) {
  if (event.has("reason")) return true;
  switch (event.number("errno").value_or(0)) {
    case ENOMEM:
      event.set_text("reason", "shortage");
      break;
    case EACCES:
      event.set_text("reason", "permission");
      break;
    case ENOENT:
      event.set_text("reason", "missing");
      break;
    case EMFILE:
      event.set_text("reason", "too_many_open");
      break;
    default:
      break;
  }
  return true;
}

// "85.92/121.69 GiB": the first is of the same unit.
bool unit_of_total(Event& event) {
  const std::string_view free = event.text("free_text");
  const std::string_view total = event.text("total_text");
  const std::string_view unit = total.substr(std::min(total.find(' '), total.size()));
  std::array<char, 24> text{};
  if (free.empty() || unit.empty() || free.size() + unit.size() > text.size()) {
    event.remove("free_text");
    return true;
  }
  std::copy(unit.begin(), unit.end(), std::copy(free.begin(), free.end(), text.begin()));
  event.set_text("free_text", std::string_view(text.data(), free.size() + unit.size()));
  return true;
}

bool same_library(const Event& open, const Event& part) {
  return open.text("library") == part.text("library");
}

}  // namespace jetmem::kernel_log::hooks
