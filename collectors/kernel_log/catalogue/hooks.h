// SPDX-License-Identifier: Apache-2.0
// What entries of messages/*.yaml name as decode, accept, complete, joins, add and describe: each
// is defined in families/, named there as in the entry, and declared here as its key has it called.
#pragma once

#include <string>
#include <string_view>

#include "collectors/kernel_log/catalogue/message.h"

namespace jetmem::kernel_log::hooks {

#include "collectors/kernel_log/catalogue/hook_list.inc"  // IWYU pragma: export

}  // namespace jetmem::kernel_log::hooks
