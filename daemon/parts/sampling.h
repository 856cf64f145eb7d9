// SPDX-License-Identifier: Apache-2.0
// The sampler with all sources, its table, and the table's sections beside those of the sources.
#pragma once

#include <cstddef>
#include <memory>

#include "collectors/device/boot/source.h"
#include "collectors/kernel_log/source.h"
#include "collectors/sampler/sampler.h"
#include "daemon/parts/daemon_context.h"
#include "health/memory/options.h"
#include "metrics/sample.h"

namespace jetmem {

struct Sampling {
  explicit Sampling(const DaemonContext& context);
  Sampling(const Sampling&) = delete;
  Sampling& operator=(const Sampling&) = delete;

  SampleTable table;
  HealthOptions health_options;
  KernelLogSource* kernel_log = nullptr;  // the sampler's
  std::size_t kernel_log_index = 0;
  BootSource* boot = nullptr;  // likewise
  std::size_t boot_index = 0;
  std::unique_ptr<Sampler> sampler;
  // Memory may be gone before the rules are due again.
  bool is_memory_shrinking_fast() const {
    return !table.sections()[exhaustion_section].values.empty();
  }

  std::size_t processes_index = 0;     // of the source, in the sampler
  std::size_t exhaustion_section = 0;  // of MemoryExhaustion, which writes only while it shrinks
  std::size_t processes_section = 0;
  std::size_t alerts_section = 0;
  std::size_t cycle_section = 0;
  std::size_t daemon_section = 0;
  std::size_t history_section = 0;
};

}  // namespace jetmem
