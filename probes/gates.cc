#include "probes/gates.h"

namespace jetmem {

std::string_view probe_group_name(ProbeGroup group) {
  return group == ProbeGroup::kMemory ? "memory" : "cuda";
}

}  // namespace jetmem
