// SPDX-License-Identifier: Apache-2.0
// The body of /metrics: the page and, behind it, the web thread's own metrics.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "daemon/http/server/gzip.h"
#include "report/exposition/exposition.h"

namespace jetmem {

class MetricsBody {
 public:
  // Bodies are handed out without a copy, and their buffers are used again. A body that a slow
  // client still reads is left alone and a new one is begun; so there are never more than
  // connections and two.
  using Body = std::shared_ptr<const std::string>;

  // `gzip` must outlive this object.
  explicit MetricsBody(Gzip& gzip) : gzip_(gzip) {}

  // `page` null: only `tail`.
  Body plain(const Page* page, std::string_view tail);
  // Null: out of memory.
  Body compressed(const Page* page, std::string_view tail);

 private:
  using Text = std::shared_ptr<std::string>;

  Gzip& gzip_;
  Text plain_ = std::make_shared<std::string>();
  Text compressed_ = std::make_shared<std::string>();
};

}  // namespace jetmem
