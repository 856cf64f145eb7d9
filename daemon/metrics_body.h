// The body of /metrics: the page, rendered and compressed at most once a round and only when
// asked for, and behind it the web thread's own series, new for each scrape.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/gzip_halves.h"
#include "report/exposition.h"

namespace jetmem {

class MetricsBody {
 public:
  // Bodies are handed out without a copy. While a slow client still reads the one before, its
  // text stands and a new one is begun; so there are never more texts than connections and two.
  using Body = std::shared_ptr<const std::string>;

  // `page` null: only `tail`.
  Body plain(const Page* page, std::string_view tail);
  // Null when zlib has no memory.
  Body gzip(const Page* page, std::string_view tail);

 private:
  // A shared head, behind which each response writes its tail.
  struct Text {
    std::shared_ptr<std::string> text = std::make_shared<std::string>();
    std::size_t head_size = 0;
    std::uint64_t round = kNone;
    // Ready for a new tail, or (keep_head false) for a new head.
    std::string& open(bool keep_head);
  };
  static constexpr std::uint64_t kNone = UINT64_MAX;

  Text plain_;
  Text gzip_;
  std::string scratch_;
  std::unique_ptr<GzipHalves> halves_;
};

}  // namespace jetmem
