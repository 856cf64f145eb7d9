#include "daemon/page_box.h"

namespace jetmem {

void PageBox::publish() {
  // The page that comes back is filled next: with the layout at hand already, it need not build
  // the same one again.
  auto layout = pages_[back_].layout;
  const auto mine = static_cast<std::uint8_t>(back_ | kFresh);
  back_ = between_.exchange(mine, std::memory_order_acq_rel) & kIndex;
  if (pages_[back_].layout != layout) pages_[back_].layout = std::move(layout);
}

const Page& PageBox::latest() {
  if ((between_.load(std::memory_order_relaxed) & kFresh) != 0) {
    front_ = between_.exchange(front_, std::memory_order_acq_rel) & kIndex;
  }
  return pages_[front_];
}

}  // namespace jetmem
