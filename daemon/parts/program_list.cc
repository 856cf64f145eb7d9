// SPDX-License-Identifier: Apache-2.0
#include "daemon/parts/program_list.h"

#include "daemon/children/child_process_stats.h"
#include "daemon/children/nvml_program.h"
#include "daemon/children/tegrastats_program.h"
#include "daemon/probe/probe_program.h"

namespace jetmem {

std::vector<std::unique_ptr<Program>> make_all_programs(const ProgramContext& context) {
  std::vector<std::unique_ptr<Program>> programs;
  programs.push_back(std::make_unique<TegrastatsProgram>(context));
  programs.push_back(std::make_unique<NvmlProgram>(context, NvmlProgramOptions{}));
  programs.push_back(std::make_unique<ProbeProgram>(context, ProbeProgramOptions{}));
  return programs;
}

std::vector<std::span<const Descriptor>> program_metrics() {
  return {child_process_metrics(), probe_stats_metrics(), probe_program_metrics()};
}

}  // namespace jetmem
