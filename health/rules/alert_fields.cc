#include "health/rules/alert_fields.h"

namespace jetmem {

std::string label_field(std::string_view label) {
  std::string out = "JETMEM_LABEL_";
  for (const char c : label) {
    const bool small = c >= 'a' && c <= 'z';
    out += small ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

}  // namespace jetmem
