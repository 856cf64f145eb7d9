// Where a file that was asked for with -o is to be written.
#pragma once

#include <string>

#include "base/result.h"

namespace jetmem {

struct OutputPlace {
  std::string file;       // behind symbolic links: they stay what they are
  bool in_place = false;  // a device, FIFO or the like: written into, never replaced
};

// Errors: a directory, a link that the kernel does not follow or that leads in a circle.
Result<OutputPlace> output_place(const std::string& asked);

}  // namespace jetmem
