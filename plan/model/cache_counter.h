// SPDX-License-Identifier: Apache-2.0
// What a model's cache keeps, from the keys of its config.json or GGUF header and what is known of
// its architecture.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "collectors/probe/json.h"
#include "plan/model/architecture.h"
#include "plan/model/model_file.h"

namespace jetmem::plan {

struct ModelKeys {
  const Json& own;          // of the language model
  const Json& whole;        // of the model it is part of: what the first leaves out
  std::string prefix;       // of keys in messages: "llama."
  std::string_view source;  // "config.json"
  const Architectures& all;
};

// Fills in layers, context, the cache and its notes. Returns how many experts there are, 0 where
// there are none. An error names a value that cannot be.
Result<std::uint64_t> count_cache(const ModelKeys& keys, ModelFile& out);

}  // namespace jetmem::plan
