// SPDX-License-Identifier: Apache-2.0
#include "base/root/bundle_name.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/draw/since.h"
#include "config/listen_address.h"
#include "daemon/http/api/parameters.h"
#include "tests/fuzz/target.h"

// Single words as people and programs write them, and any text made printable.
FUZZ(text) {
  if (const auto duration = parse_duration(text)) {
    const auto again = parse_duration(format_duration(*duration));
    check(again && *again == *duration);
  }
  (void)parse_size(text);
  const Nanoseconds now = std::chrono::seconds(1'790'000'000);
  if (const auto since = parse_since(text, now)) {
    check(since->ago.has_value() != since->at.has_value());
    check(!since->at || *since->at <= now);
    check(!since->ago || since->ago->count() >= 0);
  }
  (void)parse_seconds(text);
  (void)bundle_number(text);
  if (const auto address = parse_listen_address(text)) {
    const auto again = parse_listen_address(address->text());
    check(again && *again == *address);
  }
  for (const std::size_t most : {std::size_t{7}, std::size_t{200}}) {
    const std::string shown = printable(text, most);
    check(shown.size() <= most && printable(shown, most) == shown);
  }
}
