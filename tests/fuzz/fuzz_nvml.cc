// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/nvml/source.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  const auto nvml = parsed_twice(parse_nvml, text, &Nvml::gpus, &Nvml::processes, &Nvml::integrated,
                                 &Nvml::driver);
  if (!nvml) return;
  check(nvml->gpus.size() <= 16 && nvml->processes.size() <= 4096);
  const Nvml::Process* before = nullptr;
  for (const Nvml::Process& process : nvml->processes) {
    check(process.pid != 0 && process.bytes != UINT64_MAX);
    // By GPU and number, each once.
    check(before == nullptr ||
          std::tie(before->gpu, before->pid) < std::tie(process.gpu, process.pid));
    before = &process;
  }
}
