// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/nvml/source.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  const auto [ok, fresh, reused] = parsed_twice(parse_nvml, text);
  if (!ok) return;
  if (fresh.gpus != reused.gpus || fresh.processes != reused.processes) __builtin_trap();
  if (fresh.integrated != reused.integrated || fresh.driver != reused.driver) __builtin_trap();
  if (fresh.gpus.size() > 16 || fresh.processes.size() > 4096) __builtin_trap();
  for (std::size_t i = 0; i < fresh.processes.size(); ++i) {
    const auto& process = fresh.processes[i];
    if (process.pid == 0 || process.bytes == UINT64_MAX) __builtin_trap();
    if (i == 0) continue;
    // By GPU and number, each once.
    const auto& before = fresh.processes[i - 1];
    if (before.gpu > process.gpu || (before.gpu == process.gpu && before.pid >= process.pid)) {
      __builtin_trap();
    }
  }
}
