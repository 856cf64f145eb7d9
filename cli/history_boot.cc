#include "cli/history_boot.h"

namespace jetmem {

std::string boot_at(const std::vector<BootKnown>& boots, Nanoseconds wall) {
  const BootKnown* within = nullptr;
  const BootKnown* ended = nullptr;
  for (const BootKnown& boot : boots) {
    if (!boot.first_wall || *boot.first_wall > wall) continue;
    if (!boot.last_wall || *boot.last_wall >= wall) {
      if (within != nullptr) return {};
      within = &boot;
    } else if (ended == nullptr || *boot.last_wall >= *ended->last_wall) {
      ended = &boot;
    }
  }
  const BootKnown* found = within != nullptr ? within : ended;
  return found == nullptr ? std::string() : found->boot_id;
}

}  // namespace jetmem
