// SPDX-License-Identifier: Apache-2.0
#include "base/root/bundle_name.h"

#include "base/text/text.h"
#include "base/text/utc_time.h"

namespace jetmem {

std::string bundle_stem(Nanoseconds wall, std::string_view alert) {
  std::string out(kBundlePrefix);
  for (const char c : utc_time(wall).substr(0, 19)) {
    if (c != '-' && c != ':') out += c;
  }
  out += alert.empty() ? "Z" : "Z-";
  // Rules of a site may have any name.
  for (const char c : alert.substr(0, 64)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c);
    out += is_plain ? c : '-';
  }
  return out;
}

std::uint64_t bundle_number(std::string_view name) {
  const std::size_t ending = name.find(".tar");
  if (!name.starts_with(kBundlePrefix) || ending == std::string_view::npos) return 0;
  name = name.substr(0, ending);
  const std::size_t mark = name.rfind("-n");
  if (mark == std::string_view::npos) return 0;
  std::string_view digits = name.substr(mark + 2);
  if (digits.empty() || digits.size() > 15) return 0;
  const auto number = take_u64(digits);
  return number && digits.empty() ? *number : 0;
}

}  // namespace jetmem
