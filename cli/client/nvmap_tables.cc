// SPDX-License-Identifier: Apache-2.0
#include "cli/client/nvmap_tables.h"

#include <cerrno>

#include "base/root/gatherer.h"
#include "base/root/root.h"
#include "base/text/text.h"

namespace jetmem {
namespace {

std::string title(std::string_view path) {
  const bool is_end = take_prefix(path, "jetmem:end of ");
  return printable(path, 200) + (is_end ? ", its end (the middle is omitted)" : "");
}

}  // namespace

Result<void> NvmapTables::read(const std::string& root_directory,
                               const std::vector<std::string>& heaps) {
  Root root = Root::live();
  if (!root_directory.empty()) {
    auto other = Root::at(root_directory);
    if (!other) return tl::unexpected(std::move(other.error()).within("--root"));
    root = std::move(*other);
  }
  const ReadLimits limits{.total_bytes = 8U << 20};
  Gatherer gatherer(root, snapshot_, limits);
  for (const std::string& heap : heaps) {
    // The name may be another program's answer.
    if (heap.find('/') != std::string::npos) continue;
    for (const char* leaf : {"/maps", "/procrank"}) {
      if (!gatherer.has_room()) return {};
      constexpr std::size_t kHead = 1U << 20;
      constexpr std::size_t kEnd = 16U << 10;
      const FileText file =
          gatherer.read_ends("/sys/kernel/debug/nvmap/" + heap + leaf, kHead, kEnd);
      if (file.error == ENOENT) gatherer.forget();  // only iovmm has procrank
    }
  }
  return {};
}

std::string NvmapTables::text() const {
  std::string out;
  for (std::size_t i = 0; i < snapshot_.size(); ++i) {
    const FileText file = snapshot_[i];
    out += "\n" + title(file.path) + "\n";
    if (!file.ok()) out += "  " + printable(file.as_error().message, 400) + "\n";
    Lines lines(file.text);
    std::string_view line;
    while (lines.next(line)) out += printable(line, 400) + "\n";
  }
  return out;
}

void NvmapTables::describe(json::Fields& v) {
  std::vector<FileText> files;
  for (std::size_t i = 0; i < snapshot_.size(); ++i) files.push_back(snapshot_[i]);
  v.list("tables", files, [](json::Fields& w, FileText& file) {
    w.output("path", title(file.path));
    std::vector<std::string> lines;
    Lines walk(file.text);
    std::string_view line;
    while (walk.next(line)) lines.push_back(printable(line, 400));
    w("lines", lines);
    if (!file.ok()) w.output("error", file.as_error().message);
  });
}

}  // namespace jetmem
