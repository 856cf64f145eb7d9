// SPDX-License-Identifier: Apache-2.0
// What runs of jetmem-probe found, for people: tables that fit a terminal of 80 columns.
#pragma once

#include <string>
#include <vector>

#include "collectors/probe/source.h"

namespace jetmem {

// All runs in one table, then remarks. Empty if there is no run. `grant`: what would give access to
// what is denied; may be empty.
std::string probe_text(const std::vector<ProbeRun>& runs, const std::string& grant);

// "999us", "1.23ms", "45.6s": three digits that matter, at most six characters.
std::string latency_text(double seconds);

}  // namespace jetmem
