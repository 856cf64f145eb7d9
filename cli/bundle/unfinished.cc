#include "cli/bundle/unfinished.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstring>

namespace jetmem {
namespace {

struct Name {
  std::array<char, PATH_MAX> text{};
  std::atomic<bool> is_there{false};
};
std::array<Name, 3> names;

Name& of(Unfinished what) { return names[static_cast<std::size_t>(what)]; }

}  // namespace

void remember_unfinished(Unfinished what, const std::string& name) {
  Name& to = of(what);
  to.is_there = false;
  // No file has a longer one.
  if (name.size() >= to.text.size()) return;
  std::memcpy(to.text.data(), name.c_str(), name.size() + 1);
  to.is_there = true;
}

void forget_unfinished(Unfinished what) { of(what).is_there = false; }

void remove_unfinished() {
  for (Name& name : names) {
    if (!name.is_there.exchange(false)) continue;
    if (::unlink(name.text.data()) != 0) ::rmdir(name.text.data());
  }
}

}  // namespace jetmem
