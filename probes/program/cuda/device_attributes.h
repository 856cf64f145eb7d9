// SPDX-License-Identifier: Apache-2.0
// What the GPU is and can do, as the driver reports it.
#pragma once

#include "probes/program/cuda/driver.h"
#include "probes/program/gpu.h"

namespace jetmem::probe {

// Makes no context. False: the device does not say what it is, and the step's last call says why.
bool read_attributes(driver::Device device, Gpu& gpu, Step& step);

}  // namespace jetmem::probe
