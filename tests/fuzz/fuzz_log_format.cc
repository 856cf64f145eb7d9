// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/text/text.h"
#include "cli/decode/log_format.h"
#include "tests/fuzz/target.h"

namespace {

// In one piece, or byte by byte.
bool read(std::string_view text, std::size_t step, jetmem::kernel_log::TextLog::Counts& counts,
          std::string& omitted) {
  using namespace jetmem::kernel_log;
  const auto log = std::make_unique<TextLog>(
      Soc::kTegra234, [](const Event& event, std::string_view) { describe(event); });
  jetmem::LogFormat format(*log);
  bool ok = true;
  while (ok && !text.empty()) {
    ok = format.feed(text.substr(0, step)).has_value();
    text.remove_prefix(std::min(step, text.size()));
  }
  ok = ok && format.finish().has_value();
  log->finish();
  counts = log->counts();
  omitted = format.omitted();
  if (jetmem::printable(omitted, 1000) != omitted) __builtin_trap();
  return ok;
}

}  // namespace

// A log that somebody saved, as text or in the journal's formats.
FUZZ(text) {
  kernel_log::TextLog::Counts whole;
  kernel_log::TextLog::Counts pieces;
  std::string whole_left_out;
  std::string pieces_left_out;
  const bool ok = read(text, SIZE_MAX, whole, whole_left_out);
  if (read(text, 7, pieces, pieces_left_out) != ok) __builtin_trap();
  // What is longer is known by its beginning, of which a piece may have less.
  if (!ok || text.size() > 4096) return;
  if (whole.lines != pieces.lines || whole.events != pieces.events) __builtin_trap();
  if (whole_left_out != pieces_left_out) __builtin_trap();
}
