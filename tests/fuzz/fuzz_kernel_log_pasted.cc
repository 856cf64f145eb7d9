// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/text/text.h"
#include "collectors/kernel_log/text_log.h"
#include "tests/fuzz/target.h"

namespace jetmem::kernel_log {

// In one piece, or byte by byte.
static TextLog::Counts read(std::string_view text, std::size_t step) {
  const auto log =
      std::make_unique<TextLog>(Soc::kTegra234, [](const Event& event, std::string_view time) {
        check_shown(describe(event));
        check_shown(printable(time, 60));
      });
  while (!text.empty()) {
    log->feed(text.substr(0, step));
    text.remove_prefix(std::min(step, text.size()));
  }
  log->finish();
  return log->counts();
}

}  // namespace jetmem::kernel_log

FUZZ(text) {
  using namespace jetmem::kernel_log;
  const TextLog::Counts whole = read(text, SIZE_MAX);
  const TextLog::Counts pieces = read(text, 5);
  check(whole.lines == pieces.lines && whole.events == pieces.events && whole.cut == pieces.cut);
  check(whole.sending == pieces.sending && whole.foreign == pieces.foreign);
  check(whole.lost == pieces.lost && whole.sending + whole.foreign <= whole.lines);
}
