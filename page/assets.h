// SPDX-License-Identifier: Apache-2.0
// The files of the device's page, compressed at build time (page/build.py) and embedded in the
// daemon, so that the page needs only the device.
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

std::span<const Asset> assets();
// Null for an unknown path.
inline const Asset* find_asset(std::string_view path) {
  for (const Asset& each : assets()) {
    if (each.path == path) return &each;
  }
  return nullptr;
}

}  // namespace jetmem
