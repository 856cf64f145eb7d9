// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectors/source.h"

namespace jetmem {

// A derived metric that nothing but the page, the rules and the history reads: the Sampler has it
// written only when one of those does, so what it remembers is as coarse as that: every five seconds
// or less, with --speed every evaluation of the rules or value of the history.
class LazyDerivedMetric : public DerivedMetric {};

}  // namespace jetmem
