// SPDX-License-Identifier: Apache-2.0
// Groups of processes that are among the largest now and have no series yet
// (collectors/processes/group/shown_groups.h): metrics wait for three readings, so that series do
// not come and go; who looks at the device now must see them at once.
#pragma once

#include <vector>

#include "collectors/processes/group/groups.h"
#include "report/device/sample_set.h"

namespace jetmem {

// Adds samples of them, taken out of those of the group "other".
void add_newcomers(const std::vector<Processes::Newcomer>& newcomers, SampleSet& samples);

}  // namespace jetmem
