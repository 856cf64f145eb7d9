// SPDX-License-Identifier: Apache-2.0
// The large tables of nvmap (maps, procrank), unchanged. Reading them delays allocations.
#pragma once

#include <string>
#include <vector>

#include "base/json/fields.h"
#include "base/result.h"
#include "base/root/snapshot.h"

namespace jetmem {

class NvmapTables {
 public:
  // Of these heaps, below the root; empty: the live machine.
  Result<void> read(const std::string& root_directory, const std::vector<std::string>& heaps);

  std::string text() const;
  void describe(json::Fields& v);

 private:
  Snapshot snapshot_;
};

}  // namespace jetmem
