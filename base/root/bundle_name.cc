// SPDX-License-Identifier: Apache-2.0
#include "base/root/bundle_name.h"

#include "base/text/text.h"

namespace jetmem {

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
