// SPDX-License-Identifier: Apache-2.0
// The same samples as prometheus-cpp's model: the reference that exposition.h is held to. Linked
// by tests and benchmarks only; the daemon does without the library.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "metrics/sample.h"

namespace jetmem {

std::vector<prometheus::MetricFamily> prometheus_model(const SampleTable& table);

}  // namespace jetmem
