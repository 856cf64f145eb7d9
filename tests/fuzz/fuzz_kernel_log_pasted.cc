// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "base/text/text.h"
#include "collectors/kernel_log/text_log.h"
#include "tests/fuzz/target.h"

namespace jetmem::kernel_log {
namespace {

// In one piece, or byte by byte.
TextLog::Counts read(std::string_view text, std::size_t step) {
  const auto log =
      std::make_unique<TextLog>(Soc::kTegra234, [](const Event& event, std::string_view time) {
        for (const std::string& shown : {describe(event), printable(time, 60)}) {
          for (const char c : shown) {
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) __builtin_trap();
          }
        }
      });
  while (!text.empty()) {
    log->feed(text.substr(0, step));
    text.remove_prefix(std::min(step, text.size()));
  }
  log->finish();
  return log->counts();
}

}  // namespace
}  // namespace jetmem::kernel_log

FUZZ(text) {
  using namespace jetmem::kernel_log;
  const TextLog::Counts whole = read(text, SIZE_MAX);
  const TextLog::Counts pieces = read(text, 5);
  if (whole.lines != pieces.lines || whole.events != pieces.events || whole.cut != pieces.cut ||
      whole.sending != pieces.sending || whole.foreign != pieces.foreign ||
      whole.lost != pieces.lost) {
    __builtin_trap();
  }
  if (whole.sending + whole.foreign > whole.lines) __builtin_trap();
}
