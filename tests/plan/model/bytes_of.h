// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plan/model/header_reader.h"

namespace jetmem::plan {

// A file that holds `text`, which must outlive it.
inline ModelBytes bytes_of(std::string_view text) {
  ModelBytes out;
  out.file.reset(::fmemopen(const_cast<char*>(text.data()), text.size(), "r"));
  out.size = text.size();
  return out;
}

}  // namespace jetmem::plan
