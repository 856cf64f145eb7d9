// SPDX-License-Identifier: Apache-2.0
// All derived metrics.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "collectors/source.h"
#include "health/memory/options.h"

namespace jetmem {

// In the order in which they are written. `options` must outlive them; changes count from the next
// cycle on.
std::vector<std::unique_ptr<DerivedMetric>> make_derived_metrics(
    const HealthOptions& options = kDefaultHealthOptions);

// What they are, in the same order, without making them.
std::span<const DerivedInfo* const> derived_infos();

}  // namespace jetmem
