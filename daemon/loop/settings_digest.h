// SPDX-License-Identifier: Apache-2.0
// Tells settings apart by a short text: another one when one of them is another.
#pragma once

#include <string>

#include "config/settings.h"

namespace jetmem {

std::string digest_of(const Settings& settings);

}  // namespace jetmem
