// SPDX-License-Identifier: Apache-2.0
// The metadata of a GGUF file that a memory budget needs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/plan/model/model_file.h"

namespace jetmem::plan {

inline constexpr std::string_view kArchitectureKey = "general.architecture";

// Values of the keys that are wanted; all others are passed over. A key of the file's own
// architecture, which is therefore put first, is kept without it: "block_count" of
// "llama.block_count". Numbers are lists of one.
class GgufKeys {
 public:
  bool is_wanted(std::string_view key) const;
  void put(std::string_view key, std::vector<std::uint64_t> numbers);
  void put_text(std::string_view key, std::string text);

  std::string_view text(std::string_view key) const;
  bool has(std::string_view key) const { return numbers_.count(std::string(key)) != 0; }
  std::optional<std::uint64_t> number(std::string_view key) const;
  // Of one layer: an item of a list, or the same number for all.
  std::optional<std::uint64_t> of_layer(std::string_view key, std::uint64_t layer) const;
  bool is_list(std::string_view key) const;

 private:
  // The key without the architecture; empty: not one of the architecture's that are wanted.
  std::string_view without_architecture(std::string_view key) const;
  std::string stored_name(std::string_view key) const;

  std::map<std::string, std::vector<std::uint64_t>> numbers_;
  std::map<std::string, std::string> texts_;
};

// Fills in what the keys say: name, architecture, layers, context and the cache with its notes.
void take_keys(const GgufKeys& keys, ModelFile& out);

}  // namespace jetmem::plan
