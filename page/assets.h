// The device's own page: what it is made of, compressed at build time (page/build.py) and carried
// by the daemon, so that it needs nothing but the device.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace jetmem {

struct Asset {
  const char* path;       // that it is asked for by: "/", "/page/jetmem.js", "/runbooks/oom-kill"
  const char* type;       // Content-Type
  const char* etag;       // of its text, whatever the encoding: W/"..."
  std::string_view gzip;  // one gzip member
  std::size_t size;       // of the text in it
};

// Sorted by path.
std::span<const Asset> assets();
// Null where there is none of this path.
const Asset* find_asset(std::string_view path);

}  // namespace jetmem
