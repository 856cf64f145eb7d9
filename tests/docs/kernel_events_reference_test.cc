// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "report/exposition/metrics_reference.h"
#include "tests/update.h"

namespace jetmem {
namespace {

TEST(KernelEventsReference, IsFresh) {
  expect_equals_file(render_kernel_events_reference(), JETMEM_DOCS "/kernel-events.md");
}

}  // namespace
}  // namespace jetmem
