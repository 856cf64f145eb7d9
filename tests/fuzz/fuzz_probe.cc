// SPDX-License-Identifier: Apache-2.0
#include "base/text/text.h"
#include "collectors/probe/source.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  static ProbeSource reused;
  ProbeSource fresh;
  Snapshot snapshot;
  snapshot.add("/jetmem/probe", text, 0);
  const bool ok = fresh.parse(snapshot, {}).has_value();
  check(reused.parse(snapshot, {}).has_value() == ok);
  if (!ok) return;
  check(fresh.reading() == reused.reading());
  const auto& runs = fresh.reading().runs;
  check(!runs.empty() && runs.size() <= ProbeReading::kMaxRuns);
  for (const auto& run : runs) {
    check(run.probes.size() <= 64 && run.seconds >= 0 && run.started_boot.count() >= 0);
    for (const auto& probe : run.probes) {
      check(probe.kind.size() <= 64 && probe.reason.size() <= 300);
      check(printable(probe.target, 64) == probe.target);
      check(probe.size_steps.size() <= 16 && probe.ratios.size() <= 32);
      for (const auto& size_step : probe.size_steps) {
        check(size_step.steps.size() <= 32);
        for (const auto& step : size_step.steps) check(step.seconds >= 0);
      }
    }
  }
}
