// SPDX-License-Identifier: Apache-2.0
// The memory of the whole module in parts that do not overlap, for status, top, map and watch.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/fields.h"
#include "report/device/device_now.h"

namespace jetmem {

struct MemoryBudget {
  // A component of a part. The components add up to the part as far as the kernel reports them.
  struct Piece {
    std::string name;  // "anonymous", "page_tables", ...
    double bytes = 0;
    std::string what;  // for people
  };
  struct Part {
    // "firmware", "kernel", "applications", "gpu", "cma", "dmabuf", "swap", "cache", "free"
    std::string name;
    std::string what;  // for people
    std::optional<double> bytes;
    std::string why;  // why it is not known, or not counted; with bytes: what is missing in them
    // A source's value that overlaps with other parts and is therefore not in the sum.
    std::optional<double> reported_bytes;
    bool none = false;     // the device has no such thing: no gap
    bool outside = false;  // no part of what the parts are held against, known or not
    std::vector<Piece> components;
  };

  std::optional<double> bytes;  // what the parts are held against
  std::string of;               // "module", "physical", "linux": what `bytes` is the size of
  std::string no_bytes;         // why it is not known
  std::vector<Part> parts;
  // Size less all known parts: drivers' memory that nothing counts, and parts that are not known.
  // Never below zero.
  std::optional<double> unaccounted_bytes;
  // By how much the parts exceed the size; 0: they do not. They overlap (a program's own memory
  // that it gave to nvmap is in both, as are two nvmap handles of the same pages), or were read at
  // different moments.
  double overlap_bytes = 0;
  bool unaccounted_includes_unknown = false;
  // Why files that describe one memory cannot be from one machine; empty: they can.
  std::string contradiction;

  const Part* part(std::string_view name) const;
  // Whether the figures without which the rest says nothing are there: those of /proc/meminfo.
  bool has_basics() const;
};

MemoryBudget memory_budget(const DeviceNow& now);
// The same held against what Linux manages (MemTotal): without firmware and without what the
// kernel took before it counted. The other parts and the rest are those of memory_budget().
MemoryBudget linux_budget(const DeviceNow& now);

void describe(json::Fields& v, MemoryBudget& budget);

}  // namespace jetmem
