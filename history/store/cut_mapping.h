// SPDX-License-Identifier: Apache-2.0
// SQLite maps history.db-shm, its index of the WAL, and whoever may write to that file can cut it
// short: from then on touching the mapping is SIGBUS, which ends the process.
//
// Here such a page reads as zeros instead, private to this process, and is counted. Zeros are an
// index that SQLite makes anew from the WAL in the next transaction; what ran meanwhile may have
// missed rows of the WAL, so it must neither be committed nor believed.
#pragma once

#include <cstdint>

namespace jetmem {

// From now on, on this thread. On others, and elsewhere than in a cut mapping, SIGBUS does what it
// did before.
void survive_cut_mappings();

// Pages so far, of all threads.
std::uint64_t cut_mappings();

}  // namespace jetmem
