// SPDX-License-Identifier: Apache-2.0
#include "collectors/reader/protocol.h"
#include "tests/fuzz/target.h"

FUZZ(stream) {
  Snapshot snapshot;
  if (!reader::decode(stream, snapshot)) return;
  // What decodes is what was encoded.
  ByteBuffer again;
  reader::encode(snapshot, again);
  check(again.view() == stream);
}
