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
  check(!is_json || json == once || nlohmann::json::accept(json));
  // Whatever lies around them.
  constexpr const char* kAddress = "192.168.77.88";
  constexpr const char* kMac = "48:b0:2d:12:34:56";
  if (text.find(kAddress) != text.npos || text.find(kMac) != text.npos) return;
  Redacted known;
  const std::string around =
      redact_text(std::string(text) + "\nfrom " + kAddress + ", mac " + kMac + " x\n", known);
  check(around.find(kAddress) == around.npos && around.find(kMac) == around.npos);
  check(known.addresses >= 2);
}
