// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "cli/bundle/redact.h"
#include "tests/fuzz/target.h"

// What stays secret must stay so when it is looked at again, and JSON stays JSON.
FUZZ(text) {
  Redacted counts;
  const std::string once = redact_text(text, counts);
  redact_text(once, counts, false);
  redact_command_line(text, counts);
  const bool is_json = nlohmann::json::accept(text);
  const std::string json = redact_json(text, counts, -1);
  if (is_json && json != once && !nlohmann::json::accept(json)) __builtin_trap();
  // Whatever lies around them.
  if (text.find("192.168.77.88") != std::string_view::npos ||
      text.find("48:b0:2d:12:34:56") != std::string_view::npos) {
    return;
  }
  Redacted known;
  const std::string around =
      redact_text(std::string(text) + "\nfrom 192.168.77.88, mac 48:b0:2d:12:34:56 x\n", known);
  if (around.find("192.168.77.88") != std::string::npos) __builtin_trap();
  if (around.find("48:b0:2d:12:34:56") != std::string::npos) __builtin_trap();
  if (known.addresses < 2) __builtin_trap();
}
