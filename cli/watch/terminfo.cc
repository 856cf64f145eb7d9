// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/terminfo.h"

#include <curses.h>
#include <term.h>
// term.h defines macros with common names.
#undef lines
#undef columns
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "base/text/text.h"

namespace jetmem::watch {
namespace {

// Null where the terminal has no such string; -1 is what terminfo says of a name that is none.
const char* string_of(const char* name) {
  const char* const found = ::tigetstr(name);
  return reinterpret_cast<std::intptr_t>(found) == -1 ? nullptr : found;
}

}  // namespace

Result<std::string> load_terminfo() {
  const char* const term = std::getenv("TERM");
  const std::string name = term == nullptr ? "" : term;
  const std::string shown = " (TERM=" + printable(name, 60) + ")";
  int error = 0;
  if (name.empty() || name == "dumb" || ::setupterm(nullptr, STDOUT_FILENO, &error) != OK) {
    return fail(Errc::kInvalid, "cannot draw on this terminal" + shown +
                                    ": set TERM to its type, or use `jetmem status`");
  }
  if (string_of("cup") == nullptr) {
    return fail(Errc::kInvalid,
                "this terminal" + shown + " cannot place its cursor: use `jetmem status`");
  }
  std::string undo;
  for (const char* capability : {"sgr0", "rmkx", "cnorm", "rmcup"}) {
    if (const char* text = string_of(capability)) undo += text;
  }
  return undo;
}

}  // namespace jetmem::watch
