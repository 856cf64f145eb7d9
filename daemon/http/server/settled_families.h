// SPDX-License-Identifier: Apache-2.0
// Which families of the page have values that rarely change: three of four do not between two
// scrapes. Their text and its compressed form are kept from one scrape to the next.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "report/exposition/exposition.h"

namespace jetmem {

class SettledFamilies {
 public:
  // Takes a filled page in. True: all_settled() is not what it was, or one of the settled has
  // another value, so that their text is no longer true.
  bool update(const Page& page);

  // One for each of the page's families.
  const std::vector<bool>& flags() const { return settled_; }

 private:
  // A family that changed is not settled for so many pages: two hours of scrapes.
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
