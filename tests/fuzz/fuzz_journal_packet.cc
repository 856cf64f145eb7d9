// SPDX-License-Identifier: Apache-2.0
#include "collectors/journal/protocol.h"
#include "tests/fuzz/target.h"

FUZZ(bytes) {
  const auto packet = journal::parse_packet(bytes);
  if (!packet) return;
  // What parses is what was written.
  std::string again;
  journal::write_packet(*packet, again);
  check(again == bytes);
}
