// SPDX-License-Identifier: Apache-2.0
// The processes among the names in /proc, for gatherers that walk over them.
#pragma once

#include <string>
#include <vector>

#include "base/root/root.h"

namespace jetmem {

// Keeps the numbers only, the smallest first: a walk that must end early has then seen what has run
// since boot, and loses what came last. In the order of their digits "9" would always come last.
void keep_pids(std::vector<std::string>& names);

// Whether these, so sorted, are not all: process 1 is always there, but hidden with hidepid; and a
// container has a first process of its own and sees none but its own.
bool hides_processes(const Root& root, const std::vector<std::string>& pids);

}  // namespace jetmem
