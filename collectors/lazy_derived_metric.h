// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectors/source.h"

namespace jetmem {

// A derived metric that nothing but the page, the rules and the history reads: the Sampler has it
// written only when one of those does, every few seconds at least. So what it remembers is as
// coarse as that.
class LazyDerivedMetric : public DerivedMetric {};

}  // namespace jetmem
