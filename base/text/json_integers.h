// SPDX-License-Identifier: Apache-2.0
// Whole numbers in JSON are integers: 2460, not 2460.0, which a typed client takes for none.
#pragma once

#include <cmath>
#include <cstdint>

namespace jetmem {

// Of a document of nlohmann's, before it is written.
template <class Json>
void use_integers(Json& value) {
  if (value.is_structured()) {
    for (Json& item : value) use_integers(item);
  }
  if (!value.is_number_float()) return;
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  const auto number = value.template get<double>();
  if (std::fabs(number) < kBeyond && std::trunc(number) == number) {
    value = static_cast<std::int64_t>(number);
  }
}

}  // namespace jetmem
