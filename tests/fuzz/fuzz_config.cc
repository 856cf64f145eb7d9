// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "config/load.h"
#include "config/schema.h"
#include "tests/fuzz/target.h"

// Whatever the text is: no crash, and what loads is what show_settings writes.
static void check_text(std::string_view text) {
  using namespace std::chrono_literals;
  constexpr std::array<jetmem::KnownSource, 2> kSources{
      {{"meminfo", 1s, 100ms}, {"pagetypeinfo", 5min, 1min}}};
  const std::array texts{jetmem::ConfigText{"fuzz", text}};
  const auto loaded = jetmem::parse_settings(texts, kSources);
  if (!loaded) {
    jetmem::check(!loaded.error().empty() && !describe(loaded.error()).empty());
    return;
  }
  const std::string shown = show_settings(*loaded);
  const std::array again{jetmem::ConfigText{"shown", shown}};
  const auto reloaded = jetmem::parse_settings(again, kSources);
  jetmem::check(reloaded && reloaded->values == loaded->values);
  jetmem::check(keys_that_need_restart(loaded->values, reloaded->values).empty());
}

FUZZ(input) {
  const std::string text(input);
  check_text(text);
  // With a head start, so that values are reached without guessing the names above them.
  check_text("http: {max_connections: 7}\nreader:\n  socket: " + text);
}
