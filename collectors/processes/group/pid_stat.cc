// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/pid_stat.h"

#include <array>

#include "base/text/text.h"

namespace jetmem {

Result<PidStat> parse_pid_stat(std::string_view text) {
  text = trim(text);
  const std::size_t close = text.rfind(')');
  if (close == std::string_view::npos) return fail(Errc::kMalformed, "no command name");
  std::string_view rest = text.substr(close + 1);
  const std::string_view state = take_word(rest);
  if (state.size() != 1) return fail(Errc::kMalformed, "no state behind the command name");
  PidStat out;
  out.state = state.front();
  // Field numbers as in proc(5); the state is number 3.
  struct Wanted {
    int field;
    std::optional<std::uint64_t>* to;
  };
  const std::array<Wanted, 4> needed{
      {{14, &out.utime_ticks}, {15, &out.stime_ticks}, {20, &out.threads}, {22, &out.start_ticks}}};
  std::size_t next = 0;
  for (int field = 4; next < needed.size(); ++field) {
    std::string_view word = take_word(rest);
    if (word.empty()) {
      return fail(Errc::kMalformed, "ends before field " + std::to_string(needed[next].field));
    }
    if (field != needed[next].field) continue;
    *needed[next++].to = parse_u64(word);
  }
  return out;
}

std::optional<std::uint64_t> parse_resident_pages(std::string_view statm) {
  const auto size = take_u64(statm);
  const auto resident = take_u64(statm);
  // A blank behind it: the number is whole.
  if (!size || !resident || statm.empty() || *resident == 0) return std::nullopt;
  return resident;
}

}  // namespace jetmem
