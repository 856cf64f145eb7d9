// SPDX-License-Identifier: Apache-2.0
// The metrics reference (docs/metrics.md) out of the descriptors, so that it cannot be wrong.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/sample.h"

namespace jetmem {

struct MetricGroup {
  std::string title;  // "Source meminfo"
  std::string about;  // a sentence or two; empty for none
  std::span<const Descriptor> metrics;
};

// Markdown: a section per group, a table of its metrics. Companions (worst of the last minute) are
// listed as metrics of their own, as Prometheus sees them.
std::string render_reference(const std::vector<MetricGroup>& groups);

// The reference of kernel-log events (docs/kernel-events.md) out of the code's own table.

// Markdown: every kind with its weight, group, key fields, MESSAGE_ID and usual meaning.
std::string render_kernel_events_reference();

}  // namespace jetmem
