// SPDX-License-Identifier: Apache-2.0
// Defects of certain releases that show as trouble with memory: data, in known_issues.yaml, which
// says how an entry is written.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "report/diagnosis/cause_table.h"

namespace jetmem::diagnosis {

// The known issues behind this event: release and board match, or they are unknown and other
// evidence matches.
std::vector<Cause> known_issues_of(const Case& it);
bool is_known_issue(std::string_view id);
// The known issues of this release, whatever happened so far.
std::vector<const KnownIssue*> known_issues_of_release(std::string_view l4t);
// "36.4.7" is one of these: exact, or "36.4.x".
bool is_release_of(Names releases, std::string_view l4t);

// What nvmap does with a request for more than is free.
enum class NvmapLimit : std::uint8_t {
  kRefuses,  // although reclaiming memory could meet it
  kGrants,   // up to all RAM; where it is not there, the OOM killer ends processes
  kUnknown,
};
// By the release of L4T, "36.4.3"; as its published driver or reports have it, else unknown.
NvmapLimit nvmap_limit(std::string_view l4t);

}  // namespace jetmem::diagnosis
