#include "cli/terminal.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace jetmem {

bool wants_color() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr && term != nullptr &&
         std::strcmp(term, "dumb") != 0;
}

int terminal_width() {
  constexpr int kNarrowest = 20;
  constexpr int kWidest = 400;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::clamp(static_cast<int>(size.ws_col), kNarrowest, kWidest);
  }
  const char* columns = std::getenv("COLUMNS");
  if (columns != nullptr) {
    if (const auto wanted = parse_u64(columns)) {
      return static_cast<int>(std::clamp<std::uint64_t>(*wanted, kNarrowest, kWidest));
    }
  }
  return 80;
}

void use_terminal_locale() {
  static const char* const once = std::setlocale(LC_CTYPE, "");
  static_cast<void>(once);
}

bool has_utf8() {
  use_terminal_locale();
  return std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
}

}  // namespace jetmem
