// SPDX-License-Identifier: Apache-2.0
// What an event of the GPU's drivers means, in words.
#pragma once

#include <string>

#include "collectors/kernel_log/event/event.h"

namespace jetmem::kernel_log {

void describe_gpu(const Event& event, std::string& out);

}  // namespace jetmem::kernel_log
