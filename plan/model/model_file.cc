// SPDX-License-Identifier: Apache-2.0
#include "plan/model/model_file.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/text/text.h"
#include "plan/model/gguf.h"
#include "plan/model/hugging_face.h"
#include "plan/model/ollama.h"
#include "plan/model/onnx.h"

namespace jetmem::plan {
namespace {

namespace fs = std::filesystem;

constexpr double kOfBlock = 32;
constexpr std::array kKvTypes{
    KvType{"f32", 4},
    KvType{"f16", 2},
    KvType{"bf16", 2},
    KvType{"fp8", 1},
    KvType{"q8_0", 34 / kOfBlock},
    KvType{"q5_1", 24 / kOfBlock},
    KvType{"q5_0", 22 / kOfBlock},
    KvType{"q4_1", 20 / kOfBlock},
    KvType{"q4_0", 18 / kOfBlock},
    KvType{"iq4_nl", 18 / kOfBlock},
};

constexpr std::uint64_t kMostParts = 1024;

tl::unexpected<Error> in_file(const std::string& path, Error error) {
  return tl::unexpected(std::move(error).within(printable(path, 300)));
}

// "NAME-00002-of-00003.gguf" of the first part's path; empty where that is not named so.
std::string part_path(const std::string& first, std::uint64_t number, std::uint64_t count) {
  char text[48];
  const auto ending = [&](std::uint64_t n) {
    std::snprintf(text, sizeof text, "-%05llu-of-%05llu.gguf",
                  static_cast<unsigned long long>(n) + 1, static_cast<unsigned long long>(count));
    return std::string_view(text);
  };
  if (!first.ends_with(ending(0))) return {};
  const std::size_t stem = first.size() - ending(0).size();
  return first.substr(0, stem).append(ending(number));
}

Result<GgufFile> one_gguf(const std::string& path) {
  const auto file = open_bytes(path);
  if (!file) return in_file(path, file.error());
  auto read = read_gguf(*file);
  if (!read) return in_file(path, std::move(read.error()));
  return read;
}

Result<ModelFile> gguf_with_parts(const std::string& path) {
  auto first = one_gguf(path);
  if (!first) return tl::unexpected(std::move(first.error()));
  const std::uint64_t count = first->split_count;
  if (count <= 1) return std::move(first->model);
  if (count > kMostParts) {
    return in_file(path, {Errc::kTooLarge, "expected at most " + std::to_string(kMostParts) +
                                               " parts, found " + std::to_string(count)});
  }
  if (first->split_number != 0) {
    return in_file(
        path, {Errc::kMalformed, "is part " + std::to_string(first->split_number + 1) + " of " +
                                     std::to_string(count) + "; give the first part"});
  }
  for (std::uint64_t i = 1; i < count; ++i) {
    const std::string next = part_path(path, i, count);
    if (next.empty()) {
      return in_file(path, {Errc::kMalformed, "is the first of " + std::to_string(count) +
                                                  " parts, expected a name that ends with "
                                                  "-00001-of-N.gguf, N of five digits"});
    }
    auto part = one_gguf(next);
    if (!part) return tl::unexpected(std::move(part.error()));
    add_part(std::move(*part), *first);
  }
  return std::move(first->model);
}

// `models` holds blobs/.
Result<ModelFile> ollama_model(const fs::path& models, const std::string& manifest_path) {
  auto text = read_text(manifest_path, kMostManifestBytes);
  if (!text) return in_file(manifest_path, std::move(text.error()));
  auto manifest = parse_ollama_manifest(*text);
  if (!manifest) return in_file(manifest_path, std::move(manifest.error()));
  const fs::path blobs = models / "blobs";
  auto model = gguf_with_parts((blobs / manifest->model).string());
  if (!model) return model;
  model->format = "Ollama, " + model->format;
  const fs::path path(manifest_path);
  model->name = printable(path.parent_path().filename().string(), 60) + ":" +
                printable(path.filename().string(), 60);
  if (!manifest->parameters.empty()) {
    const std::string blob = (blobs / manifest->parameters).string();
    text = read_text(blob, kMostManifestBytes);
    if (!text) return in_file(blob, std::move(text.error()));
    auto context = parse_ollama_parameters(*text);
    if (!context) return in_file(blob, std::move(context.error()));
    model->context = *context;
  }
  if (model->weights) *model->weights += manifest->beside_bytes;
  return model;
}

// The folder above a manifest that has blobs/.
std::optional<fs::path> models_above(const fs::path& manifest) {
  std::error_code error;
  fs::path folder = fs::absolute(manifest, error).parent_path();
  for (int i = 0; i < 8 && folder.has_relative_path(); ++i, folder = folder.parent_path()) {
    if (fs::is_directory(folder / "blobs", error)) return folder;
  }
  return std::nullopt;
}

bool has_ending(const fs::path& path, std::initializer_list<std::string_view> endings) {
  return std::find(endings.begin(), endings.end(), path.extension().string()) != endings.end();
}

// What is loaded beside the weights is not in these files.
ModelFile other_model(const std::string& path, std::string format, double weights) {
  ModelFile out;
  out.format = std::move(format);
  out.name = printable(fs::path(path).filename().string(), 60);
  out.is_language = false;
  out.weights = weights;
  if (!(weights > 0)) {
    out.weights.reset();
    out.no_weights_reason = "the file has no weights";
  }
  return out;
}

Result<ModelFile> by_path(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const std::string config = (fs::path(path) / "config.json").string();
    auto model = read_hugging_face(config);
    if (!model) return in_file(config, std::move(model.error()));
    return model;
  }
  const auto file = open_bytes(path);
  if (!file) return in_file(path, file.error());
  HeaderReader begin(*file, 4);
  const std::string magic = begin.text(std::min<std::uint64_t>(file->size, 4), "the first bytes");
  if (!begin.ok()) return in_file(path, begin.error());
  if (magic == "GGUF") return gguf_with_parts(path);
  // TensorRT's plans begin with a tag that its versions write in one of two ways.
  if (magic == "ptrt" || magic == "ftrt" || has_ending(path, {".engine", ".plan", ".trt"})) {
    ModelFile out = other_model(path, "at least the size of its file, a TensorRT engine",
                                static_cast<double>(file->size));
    out.is_at_least = true;
    return out;
  }
  const bool is_onnx = has_ending(path, {".onnx"});
  if (is_onnx || (!magic.empty() && magic.front() == '\x08')) {
    auto weights = read_onnx_weights(*file);
    if (weights) return other_model(path, "ONNX, its initializers", *weights);
    if (is_onnx) return in_file(path, std::move(weights.error()));
  }
  const std::string_view start = trim(magic);
  if (start.empty() || start.front() != '{') {
    return in_file(path, {Errc::kMalformed,
                          "byte 0: expected a GGUF or ONNX file, a TensorRT engine, or '{' of a "
                          "Hugging Face config.json or an Ollama manifest"});
  }
  if (const auto models = models_above(path)) {
    const auto text = read_text(path, kMostManifestBytes);
    if (text && parse_ollama_manifest(*text)) return ollama_model(*models, path);
  }
  auto model = read_hugging_face(path);
  if (!model) return in_file(path, std::move(model.error()));
  return model;
}

double sum_of(const std::map<std::uint64_t, double>& numbers, std::uint64_t context) {
  double sum = 0;
  for (const auto& [tokens, number] : numbers) {
    sum += number * static_cast<double>(tokens == 0 ? context : std::min(context, tokens));
  }
  return sum;
}

std::string count_text(double bytes) {
  char text[48];
  std::snprintf(text, sizeof text, "%.3g GB", bytes / 1e9);
  return text;
}

}  // namespace

std::span<const KvType> kv_types() { return kKvTypes; }

const KvType* kv_type_named(std::string_view name) {
  const auto* found = std::find_if(kKvTypes.begin(), kKvTypes.end(),
                                   [&](const KvType& each) { return each.name == name; });
  return found == kKvTypes.end() ? nullptr : found;
}

double CacheShape::most_of(std::uint64_t context) const { return sum_of(most, context); }
double CacheShape::least_of(std::uint64_t context) const { return sum_of(least, context); }
double CacheShape::whole_of(std::uint64_t context) const {
  return whole * static_cast<double>(context);
}

Result<ModelFile> read_model_file(const std::string& given,
                                  const std::vector<std::string>& ollama_folders) {
  std::error_code error;
  if (fs::exists(given, error)) {
    auto model = by_path(given);
    if (model) model->path = given;
    return model;
  }
  const std::string manifest = ollama_manifest_path(given);
  if (!manifest.empty()) {
    for (const std::string& folder : ollama_folders) {
      const fs::path path = fs::path(folder) / manifest;
      if (!fs::exists(path, error)) {
        if (error && error != std::errc::no_such_file_or_directory &&
            error != std::errc::not_a_directory) {
          return in_file(path.string(), {errc_of_errno(error.value()), error.message()});
        }
        continue;
      }
      auto model = ollama_model(folder, path.string());
      if (model) model->path = path.string();
      return model;
    }
  }
  return fail(Errc::kAbsent,
              "there is neither a file nor an Ollama model '" + printable(given, 200) + "'");
}

LanguageModel language_model_of(const ModelFile& file, const ModelUse& use) {
  LanguageModel out;
  out.name = file.name;
  out.from_file = true;
  out.notes = file.notes;
  out.sequences = use.sequences;
  out.has_weights = file.weights.has_value();
  out.weights = file.weights.value_or(0);
  out.weights_per_token = file.weights_per_token;
  out.layers = file.layers;
  out.weights_are_least = file.is_at_least;
  out.is_language = file.is_language;
  out.weights_how = file.format;
  if (!file.quantization.empty()) out.weights_how += ", " + file.quantization;
  if (!file.weights) out.weights_how = "not known: " + file.no_weights_reason;

  if (!file.is_language) return out;

  const KvType* type = use.kv_type != nullptr ? use.kv_type : kv_type_named(file.native_kv_type);
  if (type == nullptr) type = kv_type_named("f16");
  out.kv_bytes = type->bytes;
  out.kv_type = type->name;
  out.context = use.context.value_or(file.context.value_or(file.trained_context));
  if (!file.cache) {
    out.no_cache_reason = file.no_cache_reason;
    return out;
  }
  if (out.context == 0 && !file.cache->most.empty()) {
    out.no_cache_reason = "the model does not say its context; give --context";
    return out;
  }
  const double sequences = static_cast<double>(use.sequences);
  out.cache = file.cache->most_of(out.context) * type->bytes * sequences;
  out.least_cache = file.cache->least_of(out.context) * type->bytes * sequences;
  if (!file.cache->most.empty() && !use.context && !file.context) {
    out.notes.push_back("The context of " + out.name + " is the longest it was made for, " +
                        std::to_string(out.context) +
                        " tokens; runtimes often use less: give --context.");
  }
  if (file.trained_context > 0 && out.context > file.trained_context) {
    out.notes.push_back(out.name + " was made for " + std::to_string(file.trained_context) +
                        " tokens of context at most.");
  }
  if (!file.cache->bounds.empty()) {
    std::string reasons;
    for (const std::string& reason : file.cache->bounds) {
      reasons += (reasons.empty() ? "" : "; ") + reason;
    }
    out.notes.push_back("The KV cache of " + out.name + " is an upper bound: " + reasons + "." +
                        (*out.least_cache > 0
                             ? " At least " + count_text(*out.least_cache) + " are needed."
                             : std::string()));
  }
  const double whole = file.cache->whole_of(out.context) * type->bytes * sequences;
  if (whole > *out.cache) {
    out.notes.push_back("A runtime that keeps all tokens of " + out.name +
                        " in all layers, or does not compress their keys, needs " +
                        count_text(whole) + " for the KV cache.");
  }
  return out;
}

}  // namespace jetmem::plan
