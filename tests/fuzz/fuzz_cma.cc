// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/cma.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(input) {
  const auto cma = parsed_twice(parse_cma, snapshot_of(input, CmaSource::kInfo.paths),
                                &Cma::total_bytes, &Cma::areas, &Cma::areas_known);
  if (!cma) return;
  check(cma->areas.size() <= 64);
  for (const Cma::Area& area : cma->areas) {
    check(!area.total || !area.used || *area.used <= *area.total);
    check(!area.total || !area.largest_run || *area.largest_run <= *area.total);
  }
}
