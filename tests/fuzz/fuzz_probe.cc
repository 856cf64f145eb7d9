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
  if (reused.parse(snapshot, {}).has_value() != ok) __builtin_trap();
  if (!ok) return;
  if (fresh.reading() != reused.reading()) __builtin_trap();
  const auto& runs = fresh.reading().runs;
  if (runs.empty() || runs.size() > ProbeReading::kMaxRuns) __builtin_trap();
  for (const auto& run : runs) {
    if (run.probes.size() > 64 || !(run.seconds >= 0) || run.started_boot.count() < 0) {
      __builtin_trap();
    }
    for (const auto& probe : run.probes) {
      if (probe.kind.size() > 64 || probe.reason.size() > 300) __builtin_trap();
      if (printable(probe.target, 64) != probe.target) __builtin_trap();
      if (probe.size_steps.size() > 16 || probe.ratios.size() > 32) __builtin_trap();
      for (const auto& size_step : probe.size_steps) {
        if (size_step.steps.size() > 32) __builtin_trap();
        for (const auto& step : size_step.steps) {
          if (!(step.seconds >= 0)) __builtin_trap();
        }
      }
    }
  }
}
