// SPDX-License-Identifier: Apache-2.0
// What this process may at most take, set before anything else: whatever goes wrong here, it must
// not be the device that pays.
#pragma once

namespace jetmem::probe {

// The first to be killed when memory runs short, no core dump, not traced or privileged further,
// ended by a signal after the deadline. Not bounded: the address space, of which CUDA reserves far
// more than it uses.
void limit_process(unsigned deadline_seconds);

// Makes VmHWM in /proc/self/status what is resident now. False: it could not be, and is still the
// peak since the start.
bool reset_peak_memory();

}  // namespace jetmem::probe
