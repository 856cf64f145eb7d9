// SPDX-License-Identifier: Apache-2.0
#include "base/root/manifest.h"
#include "tests/fuzz/target.h"

FUZZ(input) {
  const auto manifest = parse_manifest(input);
  if (!manifest) return;
  for (const auto& recorded : manifest->errors) check(manifest->error_of(recorded.path) != 0);
  // What is understood is written so that it is understood again as the same.
  const std::string text = manifest_text(*manifest);
  const auto again = parse_manifest(text);
  check(again && manifest_text(*again) == text);
}
