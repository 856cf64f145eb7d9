// SPDX-License-Identifier: Apache-2.0
#include "base/root/manifest.h"
#include "tests/fuzz/target.h"

FUZZ(input) {
  const auto manifest = parse_manifest(input);
  if (!manifest) return;
  for (const auto& recorded : manifest->errors) {
    if (manifest->error_of(recorded.path) == 0) __builtin_trap();
  }
  // What is understood is written so that it is understood again as the same.
  const std::string text = manifest_text(*manifest);
  const auto again = parse_manifest(text);
  if (!again || manifest_text(*again) != text) __builtin_trap();
}
