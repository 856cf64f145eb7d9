// SPDX-License-Identifier: Apache-2.0
#include "report/doctor/nvmap_limit.h"

#include "base/text/text.h"
#include "report/diagnosis/known_issues.h"

namespace jetmem::doctor {

NvmapLimit nvmap_limit(std::string_view l4t) {
  for (const diagnosis::KnownIssue* issue : diagnosis::known_issues_of_release(l4t)) {
    if (issue->entry.id == "l4t-nvmap-limit") return NvmapLimit::kRefuses;
  }
  // Published drivers of 36.2 to 36.4: only what is more than all RAM is refused.
  const auto major = take_u64(l4t);
  if (!major || !take_prefix(l4t, ".")) return NvmapLimit::kUnknown;
  const auto minor = take_u64(l4t);
  const bool is_seen = minor && *major == 36 && *minor >= 2 && *minor <= 4;
  return is_seen ? NvmapLimit::kGrants : NvmapLimit::kUnknown;
}

}  // namespace jetmem::doctor
