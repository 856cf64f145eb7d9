// SPDX-License-Identifier: Apache-2.0
// The body of /metrics: the page, rendered at most once a cycle and only when requested, and after
// it the web thread's own series, which change with each scrape. Families that rarely change come
// first; their text and compressed form are reused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/server/gzip.h"
#include "daemon/http/server/settled_families.h"
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
  static constexpr std::uint64_t kNothing = UINT64_MAX;

  void render(const Page& page);

  Gzip& gzip_;
  Text plain_ = std::make_shared<std::string>();
  SettledFamilies settled_;
  bool has_settled_ = false;      // whether plain_ begins with the text of these
  std::size_t settled_size_ = 0;  // its size
  std::optional<Gzip::Beginning> settled_gzip_;
  std::size_t page_size_ = 0;       // how much of plain_ is the page
  std::uint64_t cycle_ = kNothing;  // of that page; 0: there is none
  Text compressed_ = std::make_shared<std::string>();
};

}  // namespace jetmem
