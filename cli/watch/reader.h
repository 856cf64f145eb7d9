// SPDX-License-Identifier: Apache-2.0
// Looks at a device now, or as its recorder has it of an earlier moment. Used by one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/client/device_client.h"
#include "cli/watch/model.h"

namespace jetmem::watch {

struct Request {
  std::optional<Nanoseconds> as_of;  // absent: now
  bool with_past = false;            // the minutes before too; always with a moment
};

class Reader {
 public:
  explicit Reader(Target options) : options_(std::move(options)) {}

  Result<Look> read(const Request& request);
  // A moment as people give it ("03:12", "-6h"); nothing for "now".
  Result<std::optional<Nanoseconds>> moment(const std::string& text);

 private:
  Result<History*> history();
  Result<Look> recorded(Nanoseconds wall);
  Result<Look> live(bool with_past);

  Target options_;
  std::unique_ptr<History> history_;
  bool answers_ = true;  // the daemon did, when it was asked last
};

}  // namespace jetmem::watch
