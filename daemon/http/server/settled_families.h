// SPDX-License-Identifier: Apache-2.0
// Which families of the page rarely change. Between two scrapes three of four keep their values:
// their text and its compressed form are used again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "report/exposition/exposition.h"

namespace jetmem {

class SettledFamilies {
 public:
  // Takes a filled page in. True: flags() changed, or a value of a settled family did, so that the
  // text of the settled ones is outdated.
  bool update(const Page& page);

  // One for each of the page's families.
  const std::vector<bool>& flags() const { return settled_; }

 private:
  // A family that changed is not settled for so many pages: two hours of a scrape every 15 s.
  static constexpr std::uint64_t kPages = 480;

  void take_layout(std::shared_ptr<const Layout> layout);
  // Of the family: whether it has changed since the last page. Remembers its values.
  bool take_values(const Page& page, std::size_t family);
  void settle();

  std::shared_ptr<const Layout> layout_;
  std::vector<double> values_;          // of each series, in the last page
  std::vector<std::uint64_t> changed_;  // by family: number of the page with its last change
  std::vector<bool> settled_;
  std::uint64_t pages_ = kPages;  // so that 0 is long ago
};

}  // namespace jetmem
