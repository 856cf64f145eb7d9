// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/metrics_body.h"

namespace jetmem {

MetricsBody::Body MetricsBody::plain(const Page* page, std::string_view tail) {
  // Cycles begin at 1.
  const std::uint64_t cycle = page == nullptr ? 0 : page->cycle;
  const bool is_rendered = cycle == cycle_;
  if (plain_.use_count() > 1) {
    plain_ = std::make_shared<std::string>(*plain_, 0, is_rendered ? page_size_ : 0);
  }
  plain_->resize(is_rendered ? page_size_ : 0);
  if (!is_rendered) {
    if (page != nullptr) render_text(*page, *plain_);
    page_size_ = plain_->size();
    cycle_ = cycle;
  }
  plain_->append(tail);
  return plain_;
}

MetricsBody::Body MetricsBody::compressed(const Page* page, std::string_view tail) {
  const Body text = plain(page, tail);
  if (compressed_.use_count() > 1) compressed_ = std::make_shared<std::string>();
  return gzip_.compress(*text, *compressed_) ? compressed_ : nullptr;
}

}  // namespace jetmem
