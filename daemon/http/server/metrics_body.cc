// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/metrics_body.h"

namespace jetmem {

MetricsBody::Body MetricsBody::plain(const Page* page, std::string_view tail) {
  if (plain_.use_count() > 1) plain_ = std::make_shared<std::string>();
  plain_->clear();
  if (page != nullptr) render_text(*page, *plain_);
  plain_->append(tail);
  return plain_;
}

MetricsBody::Body MetricsBody::compressed(const Page* page, std::string_view tail) {
  const Body text = plain(page, tail);
  if (compressed_.use_count() > 1) compressed_ = std::make_shared<std::string>();
  return gzip_.compress(*text, *compressed_) ? compressed_ : nullptr;
}

}  // namespace jetmem
