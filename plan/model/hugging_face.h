// SPDX-License-Identifier: Apache-2.0
// A model as Hugging Face's libraries store it, a folder of
//
//   config.json                   its shape: num_hidden_layers, num_attention_heads,
//                                 num_key_value_heads, head_dim, hidden_size, torch_dtype, ...; of
//                                 a model that sees or hears too, in text_config
//   model.safetensors.index.json  {"metadata": {"total_size": bytes}, "weight_map": {tensor: file}}
//   *.safetensors                 u64 length, a JSON header of that length:
//                                 {tensor: {"dtype", "shape", "data_offsets": [begin, end]}}, data
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/model/header_reader.h"
#include "plan/model/model_file.h"

namespace jetmem::plan {

inline constexpr std::size_t kMostConfigBytes = 1U << 20;
inline constexpr std::size_t kMostIndexBytes = 8U << 20;

// All but the weights.
Result<ModelFile> parse_hugging_face_config(std::string_view text);

struct WeightIndex {
  std::optional<double> total_bytes;  // absent: it does not say, and the files' headers do
  std::vector<std::string> files;     // names without a folder, sorted
};
Result<WeightIndex> parse_weight_index(std::string_view text);

// Bytes of the tensors in one file.
Result<double> read_safetensors(const ModelBytes& bytes);

// A folder's config.json with the weights beside it.
Result<ModelFile> read_hugging_face(const std::string& config_path);

}  // namespace jetmem::plan
