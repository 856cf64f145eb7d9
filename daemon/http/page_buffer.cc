// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/page_buffer.h"

#include <poll.h>

namespace jetmem {

const Page& PageBuffer::current() {
  const std::uint64_t needed = cycle();
  if (latest().cycle >= needed || missing_ == needed || !can_request()) return latest();
  replies_.clear();
  requests_.signal();
  pollfd reply{replies_.get(), POLLIN, 0};
  ::poll(&reply, 1, static_cast<int>(kTimeout.count()));
  const Page& page = latest();
  if (page.cycle < needed) missing_ = needed;
  return page;
}

}  // namespace jetmem
