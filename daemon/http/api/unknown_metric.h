// SPDX-License-Identifier: Apache-2.0
// The answer to a name that jetmem has no metric of and recorded none of.
#pragma once

#include "daemon/http/api/api.h"

namespace jetmem {

// {"error", "fix", "code": "unknown_metric"}, with the name that was most likely meant.
ApiAnswer unknown_metric(History& history, std::string_view name);

}  // namespace jetmem
