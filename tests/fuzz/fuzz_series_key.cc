// SPDX-License-Identifier: Apache-2.0
#include "metrics/series_key.h"
#include "report/device/sample_set.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  const auto name = parse_series_key(text);
  if (!name) return check(!name.error().message.empty());
  // What is understood is written so that it is understood as the same.
  const auto again = parse_series_key(name->key());
  check(again && *again == *name);
  SampleSet samples;
  samples.add(*name, 1);
  samples.add(*again, 2);
  samples.sort();
  check(samples.all().size() == 1 && samples.value(name->family) == 1.0);
}
