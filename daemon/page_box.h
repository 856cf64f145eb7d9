// Hands the loop's newest page to the web thread: three pages, one for each side and one between.
// Neither side ever waits: the loop always has a page to fill, the web thread always has one to
// read, and a page that is overtaken before it was looked at is simply filled again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "report/exposition.h"

namespace jetmem {

class PageBox {
 public:
  // For exactly one producing thread. The page is the producer's until publish().
  Page& back() { return pages_[back_]; }
  void publish();

  // For exactly one consuming thread: the newest page published, or one never filled. Valid and
  // unchanged until the next call.
  const Page& latest();

 private:
  // The index of the page in between, and whether the consumer has not seen it yet.
  static constexpr std::uint8_t kFresh = 4;
  static constexpr std::uint8_t kIndex = 3;

  std::array<Page, 3> pages_;
  std::uint8_t back_ = 0;   // the producer's
  std::uint8_t front_ = 1;  // the consumer's
  std::atomic<std::uint8_t> between_{2};
};

}  // namespace jetmem
