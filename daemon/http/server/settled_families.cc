// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/settled_families.h"

#include <bit>
#include <cstdint>
#include <utility>

namespace jetmem {

void SettledFamilies::settle() {
  for (std::size_t f = 0; f < changed_.size(); ++f) settled_[f] = pages_ - changed_[f] >= kPages;
}

// What is known of a family stays known. One that is new has just changed, but for the first
// page's.
void SettledFamilies::take_layout(std::shared_ptr<const Layout> layout) {
  const std::vector<Layout::Family>& families = layout->families();
  std::vector<std::uint64_t> changed(families.size(), layout_ ? pages_ : 0);
  for (std::size_t f = 0, before = 0; layout_ && f < families.size(); ++f) {
    const std::string_view name = layout->name(families[f]);
    const std::vector<Layout::Family>& known = layout_->families();
    while (before < known.size() && layout_->name(known[before]) < name) ++before;
    if (before < known.size() && layout_->name(known[before]) == name)
      changed[f] = changed_[before];
  }
  settled_.assign(families.size(), false);
  values_.assign(layout->series().size(), 0);
  layout_ = std::move(layout);
  changed_ = std::move(changed);
}

bool SettledFamilies::take_values(const Page& page, std::size_t family) {
  const std::vector<Layout::Series>& series = layout_->series();
  const std::size_t first = family == 0 ? 0 : layout_->families()[family - 1].end;
  bool changed = false;
  for (std::size_t i = first; i < layout_->families()[family].end; ++i) {
    const double& value = page.values[series[i].value];
    // By its bits: NaN equals NaN here.
    if (std::bit_cast<std::uint64_t>(values_[i]) == std::bit_cast<std::uint64_t>(value)) continue;
    values_[i] = value;
    changed = true;
  }
  return changed;
}

bool SettledFamilies::update(const Page& page) {
  ++pages_;
  const bool is_new = page.layout != layout_;
  if (is_new) take_layout(page.layout);
  bool is_outdated = is_new;
  for (std::size_t f = 0; f < changed_.size(); ++f) {
    if (!take_values(page, f) || is_new) continue;
    changed_[f] = pages_;
    is_outdated = is_outdated || settled_[f];
  }
  if (is_outdated) settle();
  return is_outdated;
}

}  // namespace jetmem
