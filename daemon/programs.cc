#include "daemon/programs.h"

namespace jetmem {

std::vector<std::unique_ptr<Program>> make_all_programs(const ProgramContext& /*context*/) {
  return {};
}

std::vector<std::span<const Descriptor>> program_metrics() { return {}; }

}  // namespace jetmem
