// SPDX-License-Identifier: Apache-2.0
// The kinds that an event may have, for those who ask for some of them: an event of a kind that does
// not exist was never seen, which is no answer.
#pragma once

#include <string_view>

#include "base/result.h"

namespace jetmem {

// kInvalid with the nearest name where no event can be of that kind: "no event has the kind
// 'oomkill'; did you mean 'oom_kill'?".
Result<void> check_event_kind(std::string_view name);

}  // namespace jetmem
