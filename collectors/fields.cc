// SPDX-License-Identifier: Apache-2.0
#include "collectors/fields.h"

#include <algorithm>
#include <string>

#include "base/text/text.h"

namespace jetmem {

std::optional<std::uint64_t> Fields::number(std::string_view word, std::uint64_t most) {
  if (word.ends_with('\r')) word.remove_suffix(1);
  word = trim(word);
  std::string_view rest = word;
  const auto value = take_u64(rest);
  if (value && rest.empty() && *value <= most) {
    ++kept_;
    return value;
  }
  if (word.starts_with('-')) word.remove_prefix(1);
  const bool is_number = !word.empty() && std::all_of(word.begin(), word.end(), is_digit);
  lost(is_number ? kImpossible : kMalformed);
  return std::nullopt;
}

void Fields::bound(std::optional<std::uint64_t>& part, const std::optional<std::uint64_t>& whole,
                   std::uint64_t slack) {
  if (!part || !whole || *part <= *whole || *part - *whole <= slack) return;
  part.reset();
  lost(kImpossible);
}

void Fields::lost(std::string_view reason) {
  absent_.add(reason);
  if (reason == kMalformed) ++malformed_;
}

Result<void> Fields::finish(std::string_view text, std::string_view form) const {
  if (kept_ == 0) {
    return fail(Errc::kMalformed, "no line of the form '" + std::string(form) + "'");
  }
  if (malformed_ > kept_) {
    return fail(Errc::kMalformed, std::to_string(malformed_) + " lines are not '" +
                                      std::string(form) + "', only " + std::to_string(kept_) +
                                      " are");
  }
  // A number at the end of a text that was cut may have lost digits, or its unit.
  if (text.ends_with('\n')) return {};
  const auto line = 1 + std::count(text.begin(), text.end(), '\n');
  return fail(Errc::kMalformed,
              "line " + std::to_string(line) + ": cut off: no newline at its end");
}

}  // namespace jetmem
