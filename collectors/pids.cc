#include "collectors/pids.h"

#include <algorithm>

#include "base/text.h"

namespace jetmem {

void keep_pids(std::vector<std::string>& names) {
  std::erase_if(names, [](const std::string& name) {
    return name.empty() || name.front() == '0' || !std::all_of(name.begin(), name.end(), is_digit);
  });
  // Without zeros in front the longer number is the larger.
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
}

}  // namespace jetmem
