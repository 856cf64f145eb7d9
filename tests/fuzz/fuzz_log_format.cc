// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/text/text.h"
#include "cli/decode/log_format.h"
#include "tests/fuzz/target.h"

namespace jetmem {
namespace {

struct Read {
  bool ok = true;
  kernel_log::TextLog::Counts counts;
  std::string omitted;
};

// In one piece, or byte by byte.
Read read(std::string_view text, std::size_t step) {
  using namespace kernel_log;
  const auto log = std::make_unique<TextLog>(
      Soc::kTegra234, [](const Event& event, std::string_view) { describe(event); });
  LogFormat format(*log);
  Read read;
  while (read.ok && !text.empty()) {
    read.ok = format.feed(text.substr(0, step)).has_value();
    text.remove_prefix(std::min(step, text.size()));
  }
  read.ok = read.ok && format.finish().has_value();
  log->finish();
  read.counts = log->counts();
  read.omitted = format.omitted();
  check(printable(read.omitted, 1000) == read.omitted);
  return read;
}

}  // namespace
}  // namespace jetmem

// A log that somebody saved, as text or in the journal's formats.
FUZZ(text) {
  const Read whole = read(text, SIZE_MAX);
  const Read pieces = read(text, 7);
  check(whole.ok == pieces.ok);
  // What is longer is known by its beginning, of which a piece may have less.
  if (!whole.ok || text.size() > 4096) return;
  check(whole.counts.lines == pieces.counts.lines && whole.counts.events == pieces.counts.events);
  check(whole.omitted == pieces.omitted);
}
