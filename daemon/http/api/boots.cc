// SPDX-License-Identifier: Apache-2.0
// /api/v1/boots: what `jetmem boots --json` prints, of the history as the loop published it last.

#include <optional>

#include "daemon/http/api/api.h"
#include "report/answers/boots_answer.h"

namespace jetmem {

ApiAnswer api_boots(Api& api, const Parameters& /*parameters*/) {
  Result<boot::History> history =
      fail(Errc::kAbsent, "jetmemd keeps none (it has no STATE_DIRECTORY), or has not read it yet");
  boot::Marks marks;
  const auto take = [&](const std::string& path, const std::string& text) {
    const std::string_view file = std::string_view(path).substr(path.rfind('/') + 1);
    if (file == boot::kMarksFile) boot::parse_marks(text, marks);
    if (file != boot::kHistoryFile) return;
    boot::History kept;
    if (auto ok = boot::parse_history(text, kept); ok) {
      history = std::move(kept);
    } else {
      history = tl::unexpected(std::move(ok.error()));
    }
  };
  for (const auto& source : api.texts()) {
    for (const auto& [path, text] : source->files) take(path, text);
  }
  return api_text(boots_json(boots_answer(api.from(), std::move(history), marks, nullptr)));
}

}  // namespace jetmem
