// SPDX-License-Identifier: Apache-2.0
#include "base/root/recorded.h"
#include "tests/fuzz/target.h"
#include "tests/temp_dir.h"

// What a bundle says that a source was given. A file of the tree is named again and again, in
// vain.
FUZZ(input) {
  static const TempDir tree;
  static const std::string meminfo = tree.write("proc/meminfo", "MemTotal: 1000 kB\n");
  static const std::string secret = tree.write("secret", "outside");
  static const Root root = *Root::at(tree.path());
  constexpr ReadLimits kLimits{.file_bytes = 4096, .total_bytes = 16384, .files = 64};
  tree.write("jetmem/records/fuzz", input);
  Snapshot snapshot;
  if (!read_recorded(root, "fuzz", snapshot, kLimits)) __builtin_trap();
  if (snapshot.size() > 2 * kLimits.files) __builtin_trap();
  if (snapshot.buffer_size() > 2 * kLimits.total_bytes + input.size() + kLimits.file_bytes) {
    __builtin_trap();
  }
  if (snapshot.truncated()) return;
  // Whole ones are written so that they are read as the same.
  std::string text = recorded_head(false);
  for (std::size_t i = 0; i < snapshot.size(); ++i) append_recorded(text, snapshot[i], false);
  tree.write("jetmem/records/fuzz", text);
  Snapshot again;
  read_recorded(root, "fuzz", again, kLimits);
  if (again.truncated() || again.size() != snapshot.size()) __builtin_trap();
  for (std::size_t i = 0; i < again.size(); ++i) {
    if (again[i].path != snapshot[i].path || again[i].error != snapshot[i].error ||
        again[i].text != snapshot[i].text) {
      __builtin_trap();
    }
  }
}
