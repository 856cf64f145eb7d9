// SPDX-License-Identifier: Apache-2.0
// Where Ollama keeps a model:
//
//   MODELS/manifests/HOST/NAMESPACE/MODEL/TAG   JSON: {"schemaVersion": 2, "layers": [{"mediaType":
//                                               "application/vnd.ollama.image.model", "digest":
//                                               "sha256:HEX", "size": bytes}, ...]}
//   MODELS/blobs/sha256-HEX                     each layer's bytes; that of the model is a GGUF
//   file
//
// MODELS is $OLLAMA_MODELS, else ~/.ollama/models; of Ollama's own service
// /usr/share/ollama/.ollama/models. A name is [HOST/][NAMESPACE/]MODEL[:TAG], by default of
// registry.ollama.ai, library and latest. The layer ...image.params is JSON: {"num_ctx": 8192};
// ...image.projector and ...image.adapter are loaded beside the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace jetmem::plan {

inline constexpr std::size_t kMostManifestBytes = 1U << 20;

struct OllamaManifest {
  // Names below blobs/; empty: there is none.
  std::string model;
  std::string parameters;
  double beside_bytes = 0;  // projectors and adapters
};
Result<OllamaManifest> parse_ollama_manifest(std::string_view text);
// num_ctx, where it is set.
Result<std::optional<std::uint64_t>> parse_ollama_parameters(std::string_view text);

// "manifests/registry.ollama.ai/library/llama3.2/latest" of "llama3.2"; empty for what is no name.
std::string ollama_manifest_path(std::string_view name);

// Of this user and of Ollama's service.
std::vector<std::string> ollama_folders();

}  // namespace jetmem::plan
