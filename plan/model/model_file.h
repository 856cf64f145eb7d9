// SPDX-License-Identifier: Apache-2.0
// What a language model's own files say about the memory it needs: its weights, and the keys and
// values that its cache holds for each token.
//
// Read are, of each the header only: a GGUF file (gguf.h), a Hugging Face folder (hugging_face.h),
// an Ollama model (ollama.h), which is a GGUF file by another name, an ONNX file (onnx.h); of a
// TensorRT engine, whose form is not public, the size.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace jetmem::plan {

// How a runtime stores one number of the cache. The names are llama.cpp's (--cache-type-k) and, of
// fp8, vLLM's (--kv-cache-dtype). Quantized ones hold a scale for each 32 numbers.
struct KvType {
  std::string_view name;
  double bytes;
};
std::span<const KvType> kv_types();
const KvType* kv_type_named(std::string_view name);

// Beyond it a number is a damaged file's.
inline constexpr std::uint64_t kMostLayers = 4096;
inline constexpr std::uint64_t kMostWidth = 1U << 24;  // heads, head size, rows
inline constexpr double kMostModelBytes = 1e13;

// Numbers that the cache holds for each token, of all layers, by how many of the last tokens they
// are held for (a window); 0: for all of the context.
struct CacheShape {
  std::map<std::uint64_t, double> most;
  std::map<std::uint64_t, double> least;  // what is certain; as `most`, unless there are `bounds`
  double whole = 0;                       // of a runtime that neither drops nor compresses
  std::vector<std::string> bounds;        // why `most` may be more than is needed: clauses

  double most_of(std::uint64_t context) const;
  double least_of(std::uint64_t context) const;
  double whole_of(std::uint64_t context) const;
};

struct ModelFile {
  std::string path;    // as given, or where it was found
  std::string format;  // "GGUF 3", "Hugging Face", "Ollama, GGUF 3"
  std::string name;
  std::string architecture;  // "llama"; empty: unknown
  std::string quantization;  // of the weights, where the file says so in words
  std::optional<double> weights;
  std::string no_weights_reason;  // why `weights` is absent
  bool is_at_least = false;       // `weights`: what is loaded may take more
  bool is_language = true;        // else what it keeps is not known to be a KV cache
  // Of these, read for each token; absent: the files do not say which (a mixture of experts).
  std::optional<double> weights_per_token;
  std::uint64_t layers = 0;
  std::uint64_t trained_context = 0;     // 0: unknown
  std::optional<std::uint64_t> context;  // that the model's own settings ask for (Ollama's num_ctx)
  std::string_view native_kv_type = "f16";
  std::optional<CacheShape> cache;
  std::string no_cache_reason;     // why `cache` is absent
  std::vector<std::string> notes;  // what is not counted: sentences
};

// A GGUF, ONNX or engine file, a folder or its config.json, an Ollama manifest; else the name of an
// Ollama model in one of `ollama_folders` ("/home/x/.ollama/models"). Errors name the file.
Result<ModelFile> read_model_file(const std::string& given,
                                  const std::vector<std::string>& ollama_folders);

struct ModelUse {
  std::optional<std::uint64_t> context;  // absent: what the model was trained for
  const KvType* kv_type = nullptr;       // null: the model's own
  std::uint64_t sequences = 1;
};
LanguageModel language_model_of(const ModelFile& file, const ModelUse& use);

}  // namespace jetmem::plan
