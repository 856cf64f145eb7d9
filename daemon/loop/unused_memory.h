// SPDX-License-Identifier: Apache-2.0
// Memory that the daemon needed once: to start, or to read its settings.
#pragma once

namespace jetmem {

// Returns freed heap to the kernel, and takes the program's and its libraries' unchanged pages out
// of this process; they stay in the page cache, and those in use are mapped again without a read.
void release_unused_memory();

}  // namespace jetmem
