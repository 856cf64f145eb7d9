// SPDX-License-Identifier: Apache-2.0
#include "docs/examples/file_nr.h"

#include <array>

#include "base/text/text.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 1> kFileNrPaths{"/proc/sys/fs/file-nr"};

constexpr std::array kFileNrMetrics{
    gauge("jetmem_file_handles",
          "Open file handles of the whole machine. At jetmem_file_handles_maximum no further file "
          "can be opened: find the process that leaks them.",
          {}, 1, Worst::kMax),
    gauge("jetmem_file_handles_maximum",
          "The most file handles that the kernel allows (fs.file-max)."),
};

}  // namespace

const SourceInfo FileNrSource::kInfo{
    .name = "file_nr",
    .what = "open file handles of the machine",
    .paths = kFileNrPaths,
    .interval = std::chrono::seconds(10),
    .metrics = kFileNrMetrics,
};

Result<void> parse_file_nr(std::string_view text, FileNr& out) {
  // Without its newline the text was cut, perhaps within a number.
  const auto line = one_value(text);
  std::string_view rest = line.value_or("");
  const auto allocated = take_u64(rest);
  const auto unused = take_u64(rest);
  const auto maximum = take_u64(rest);
  if (!allocated || !unused || !maximum || !rest.empty()) {
    return fail(Errc::kMalformed,
                "line 1: expected three numbers, found '" + printable(text, 60) + "'");
  }
  out = {*allocated, *maximum};
  return {};
}

void FileNrSource::write(SampleWriter& out, WriteContext& /*context*/) const {
  out.put(kFileNrMetrics[0], reading_.allocated);
  out.put(kFileNrMetrics[1], reading_.maximum);
}

}  // namespace jetmem
