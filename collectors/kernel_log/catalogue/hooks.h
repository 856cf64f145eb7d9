// SPDX-License-Identifier: Apache-2.0
// What entries of messages/*.yaml name as decode, accept, complete, joins, add and describe: each
// is defined in families/ under the name that the entry gives. generate.py declares it here; the
// key in the entry decides its signature.
#pragma once

#include <string>
#include <string_view>

#include "collectors/kernel_log/catalogue/message.h"

namespace jetmem::kernel_log::hooks {

#include "collectors/kernel_log/catalogue/hook_list.inc"  // IWYU pragma: export

}  // namespace jetmem::kernel_log::hooks
