// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/content_encoding.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text/text.h"

namespace jetmem {
namespace {

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

// Removes the part before the next `separator`, and returns it trimmed.
std::string_view take_part(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return trim(part);
}

// "0", "1", "0.5", "1.000" in thousandths; a malformed one counts as 0, a refusal.
int weight_of(std::string_view text) {
  if (text.empty() || (text[0] != '0' && text[0] != '1')) return 0;
  int weight = (text[0] - '0') * 1000;
  text.remove_prefix(1);
  if (text.empty()) return weight;
  if (text[0] != '.' || text.size() > 4) return 0;
  text.remove_prefix(1);
  for (int location = 100; !text.empty(); location /= 10, text.remove_prefix(1)) {
    if (!is_digit(text[0])) return 0;
    weight += (text[0] - '0') * location;
  }
  return std::min(weight, 1000);
}

}  // namespace

bool prefers_gzip(std::string_view header) {
  std::optional<int> gzip;
  std::optional<int> identity;
  std::optional<int> any;
  while (!header.empty()) {
    std::string_view item = take_part(header, ',');
    const std::string_view coding = take_part(item, ';');
    int weight = 1000;
    while (!item.empty()) {
      std::string_view value = take_part(item, ';');
      const std::string_view name = take_part(value, '=');
      if (equals_ignoring_case(name, "q")) weight = weight_of(trim(value));
    }
    if (equals_ignoring_case(coding, "gzip") || equals_ignoring_case(coding, "x-gzip")) {
      gzip = std::max(gzip.value_or(0), weight);
    } else if (equals_ignoring_case(coding, "identity")) {
      identity = weight;
    } else if (coding == "*") {
      any = weight;
    }
  }
  const int zipped = gzip.value_or(any.value_or(0));
  return zipped > 0 && zipped >= identity.value_or(0);
}

}  // namespace jetmem
