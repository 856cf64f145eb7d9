#include "daemon/programs.h"

#include "daemon/nvml_program.h"
#include "daemon/probe_program.h"
#include "daemon/program_figures.h"
#include "daemon/tegrastats_program.h"

namespace jetmem {

std::vector<std::unique_ptr<Program>> make_all_programs(const ProgramContext& context) {
  std::vector<std::unique_ptr<Program>> programs;
  programs.push_back(std::make_unique<TegrastatsProgram>(context));
  programs.push_back(std::make_unique<NvmlProgram>(context, NvmlProgramOptions{}));
  programs.push_back(std::make_unique<ProbeProgram>(context, ProbeProgramOptions{}));
  return programs;
}

std::vector<std::span<const Descriptor>> program_metrics() {
  return {program_figures_metrics(), probe_ledger_metrics(), probe_program_metrics()};
}

}  // namespace jetmem
