// SPDX-License-Identifier: Apache-2.0
// Texts in, settings or errors out; and a directory for files that vanishes with the test.
#pragma once

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "tests/config/error_places.h"
#include "tests/temp_dir.h"

namespace jetmem {

inline std::span<const KnownSource> test_sources() {
  using namespace std::chrono_literals;
  static constexpr std::array<KnownSource, 3> kSources{
      {{"meminfo", 1s, 100ms}, {"thermal", 10s, 1s}, {"pagetypeinfo", 5min, 1min}}};
  return kSources;
}

inline Loaded<LoadedSettings> parse_text(std::string_view text) {
  const std::array texts{ConfigText{"a.yaml", text}};
  return parse_settings(texts, test_sources());
}

// The settings of a text that must load.
inline Settings good(std::string_view text) {
  auto loaded = parse_text(text);
  if (loaded) return loaded->values;
  ADD_FAILURE() << describe(loaded.error());
  return {};
}

// "a.yaml:3:5: message", one per line, of a text that must not load.
inline std::string errors_of(std::string_view text) {
  const auto loaded = parse_text(text);
  return loaded ? "no error; loaded as\n" + show_settings(*loaded)
                : describe(loaded.error()) + "\n";
}

inline std::string places_of(std::string_view text) {
  const auto loaded = parse_text(text);
  return loaded ? "no error" : places_of(loaded.error());
}

}  // namespace jetmem
