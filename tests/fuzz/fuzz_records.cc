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
  check(read_recorded(root, "fuzz", snapshot, kLimits));
  check(snapshot.size() <= 2 * kLimits.files);
  check(snapshot.buffer_size() <= 2 * kLimits.total_bytes + input.size() + kLimits.file_bytes);
  if (snapshot.truncated()) return;
  // Whole ones are written so that they are read as the same.
  std::string text = recorded_head(false);
  for (std::size_t i = 0; i < snapshot.size(); ++i) append_recorded(text, snapshot[i], false);
  tree.write("jetmem/records/fuzz", text);
  Snapshot again;
  read_recorded(root, "fuzz", again, kLimits);
  check(!again.truncated() && again.size() == snapshot.size());
  for (std::size_t i = 0; i < again.size(); ++i) {
    check(again[i].path == snapshot[i].path && again[i].error == snapshot[i].error &&
          again[i].text == snapshot[i].text);
  }
}
