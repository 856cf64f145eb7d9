#include "cli/history_moment.h"

#include <ctime>

#include "base/text.h"
#include "cli/since.h"

namespace jetmem {

Result<Nanoseconds> parse_moment(std::string_view text, Nanoseconds now) {
  std::string_view rest = text;
  const bool back = take_prefix(rest, "-");
  auto since = parse_since(rest, now);
  if (!since) return tl::unexpected(std::move(since.error()));
  if (since->ago) return now - *since->ago;
  if (back) {
    return fail(Errc::kInvalid,
                "'" + printable(text, 40) + "': behind '-' stands how long ago, 6h say");
  }
  return *since->at;
}

bool looks_like_moment(std::string_view text) {
  // Whenever it is: only whether it reads as a time. In a far day's last second, so that 23:59 has
  // been as well.
  std::tm late{};
  late.tm_year = 2200 - 1900;
  late.tm_mday = 1;
  late.tm_hour = 23;
  late.tm_min = 59;
  late.tm_sec = 59;
  late.tm_isdst = -1;
  const Nanoseconds then = std::chrono::seconds(std::mktime(&late));
  return parse_moment(text, then).has_value() || (text.size() > 1 && text.front() == '-');
}

}  // namespace jetmem
