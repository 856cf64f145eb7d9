// SPDX-License-Identifier: Apache-2.0
#include "base/root/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto manifest =
      jetmem::parse_manifest(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!manifest) return 0;
  for (const auto& recorded : manifest->errors) {
    if (manifest->error_of(recorded.path) == 0) __builtin_trap();
  }
  // What is understood is written so that it is understood again as the same.
  const std::string text = jetmem::manifest_text(*manifest);
  const auto again = jetmem::parse_manifest(text);
  if (!again || jetmem::manifest_text(*again) != text) __builtin_trap();
  return 0;
}
