// SPDX-License-Identifier: Apache-2.0
// What `if` and `unless` of causes/*.yaml name: generate.py declares each that an entry names, and
// conditions.cc defines it.
#pragma once

#include <cstdint>

#include "report/diagnosis/cause.h"

namespace jetmem::diagnosis {

// So many errors of one disk or card are no retry.
inline constexpr std::uint64_t kRepeatedStorageErrors = 3;
// Of all memory: kernel objects that are usually a few percent.
inline constexpr double kMuchSlab = 0.4;

namespace conditions {
#include "conditions.inc"
// Of the words alone.
bool of_nvidia_driver(const Case& it);
}  // namespace conditions
}  // namespace jetmem::diagnosis
