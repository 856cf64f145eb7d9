// SPDX-License-Identifier: Apache-2.0
#include "plan/model/hugging_face.h"
#include "plan/model/ollama.h"
#include "tests/fuzz/target.h"
#include "tests/plan/model/bytes_of.h"

// The other files of models, by the first byte: no crash, and what is taken can be counted with.
FUZZ(input) {
  using namespace plan;
  if (input.empty()) return;
  const std::string_view text = input.substr(1);
  switch (static_cast<unsigned char>(input[0]) % 5) {
    case 0:
      if (const auto model = parse_hugging_face_config(text)) {
        if (!model->cache && model->no_cache_reason.empty()) __builtin_trap();
        const LanguageModel use = language_model_of(*model, {8192, nullptr, 1});
        if (use.cache && !(*use.least_cache >= 0 && *use.least_cache <= *use.cache)) {
          __builtin_trap();
        }
      }
      break;
    case 1:
      if (const auto index = parse_weight_index(text)) {
        if (!(index->total_bytes.value_or(0) >= 0)) __builtin_trap();
        for (const std::string& file : index->files) {
          if (file.find('/') != std::string::npos) __builtin_trap();
        }
      }
      break;
    case 2:
      if (const auto bytes = read_safetensors(bytes_of(text)); bytes && !(*bytes >= 0)) {
        __builtin_trap();
      }
      break;
    case 3:
      if (const auto manifest = parse_ollama_manifest(text)) {
        if (manifest->model.size() != 7 + 64) __builtin_trap();
      }
      (void)parse_ollama_parameters(text);
      break;
    default:
      if (const std::string path = ollama_manifest_path(text);
          path.find("/.") != std::string::npos) {
        __builtin_trap();
      }
  }
}
