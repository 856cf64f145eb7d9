// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/metrics_body.h"

namespace jetmem {

// Behind the text of the settled families, which is renewed where it has to be.
void MetricsBody::render(const Page& page) {
  if (!has_settled_) {
    settled_gzip_.reset();
    render_families(page, settled_.flags(), true, 0, *plain_);
    settled_size_ = plain_->size();
    has_settled_ = true;
  }
  render_families(page, settled_.flags(), false, settled_size_, *plain_);
}

MetricsBody::Body MetricsBody::plain(const Page* page, std::string_view tail) {
  // Cycles begin at 1.
  const std::uint64_t cycle = page == nullptr ? 0 : page->cycle;
  const bool is_rendered = cycle == cycle_;
  if (page == nullptr || (!is_rendered && settled_.update(*page))) has_settled_ = false;
  if (plain_.use_count() > 1) {
    const std::size_t kept = is_rendered ? page_size_ : has_settled_ ? settled_size_ : 0;
    plain_ = std::make_shared<std::string>(*plain_, 0, kept);
  }
  if (is_rendered || page == nullptr) {
    plain_->resize(is_rendered ? page_size_ : 0);
  } else {
    render(*page);
  }
  page_size_ = plain_->size();
  cycle_ = cycle;
  plain_->append(tail);
  return plain_;
}

MetricsBody::Body MetricsBody::compressed(const Page* page, std::string_view tail) {
  const Body text = plain(page, tail);
  if (compressed_.use_count() > 1) compressed_ = std::make_shared<std::string>();
  if (!has_settled_) return gzip_.compress(*text, *compressed_) ? compressed_ : nullptr;
  if (!settled_gzip_) settled_gzip_ = gzip_.begin(std::string_view(*text).substr(0, settled_size_));
  return gzip_.compress(*settled_gzip_, *text, *compressed_) ? compressed_ : nullptr;
}

}  // namespace jetmem
