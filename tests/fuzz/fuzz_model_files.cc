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
  switch (byte_of(input, 0) % 5) {
    case 0:
      if (const auto model = parse_hugging_face_config(text)) {
        check(model->cache || !model->no_cache_reason.empty());
        const LanguageModel use = language_model_of(*model, {8192, nullptr, 1});
        check(!use.cache || (*use.least_cache >= 0 && *use.least_cache <= *use.cache));
      }
      break;
    case 1:
      if (const auto index = parse_weight_index(text)) {
        check(index->total_bytes.value_or(0) >= 0);
        for (const std::string& file : index->files) check(file.find('/') == std::string::npos);
      }
      break;
    case 2:
      if (const auto bytes = read_safetensors(bytes_of(text))) check(*bytes >= 0);
      break;
    case 3:
      if (const auto manifest = parse_ollama_manifest(text))
        check(manifest->model.size() == 7 + 64);
      (void)parse_ollama_parameters(text);
      break;
    default:
      check(ollama_manifest_path(text).find("/.") == std::string::npos);
  }
}
