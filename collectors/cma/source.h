// SPDX-License-Identifier: Apache-2.0
// Who took the contiguous memory areas (CMA), page by page and since when (map.h). Asked of
// jetmem-reader: tracefs and debugfs are root's. Allocations are rare, so this costs what reading a
// few KiB of text costs.
#pragma once

#include "collectors/cma/map.h"
#include "collectors/processes/group/shown_groups.h"
#include "collectors/source.h"

namespace jetmem {

class CmaMapSource final : public SourceOf<CmaMapSource, CmaMap> {
 public:
  static const SourceInfo kInfo;
  // Owner of what was taken before jetmem looked, and of what has no name.
  static constexpr std::string_view kBefore = "before jetmem";
  static constexpr std::string_view kUnnamed = "unknown";

  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;

 private:
  CmaTrace trace_;
  CmaMapper mapper_;
  bool was_unclear_ = false;  // the text that came last
  // Names over all areas: what is shown must not come and go. Bounded.
  mutable ShownGroups shown_;
  mutable std::vector<Processes::Group> names_;
  mutable std::vector<std::uint64_t> pages_;
  mutable std::vector<std::uint64_t> sums_;
  mutable std::vector<std::size_t> name_of_owner_;
};

}  // namespace jetmem
