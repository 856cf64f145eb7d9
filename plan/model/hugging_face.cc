// SPDX-License-Identifier: Apache-2.0
#include "plan/model/hugging_face.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "base/text/text.h"
#include "collectors/probe/json.h"
#include "plan/model/cache_counter.h"

namespace jetmem::plan {
namespace {

constexpr std::size_t kMostTensorsHeaderBytes = 8U << 20;
constexpr std::size_t kMostFiles = 1024;
constexpr JsonBounds kConfigBounds{kMostConfigBytes, 16, 65536};
constexpr JsonBounds kHeaderBounds{kMostTensorsHeaderBytes, 8, 1U << 20};

class ConfigParser {
 public:
  ConfigParser(const Json& json, ModelFile& out) : root_{&json}, own_(root_), out_(out) {}

  Result<void> run() {
    if (!root_.value->is_object()) {
      return fail(Errc::kMalformed, "expected an object, as a model's config.json is");
    }
    std::array<JsonPath, 4> parents;  // members point to what they stand within
    std::size_t depth = 0;
    // The language model within one that sees or hears.
    for (const std::string_view name :
         {"thinker_config", "text_config", "llm_config", "language_config"}) {
      JsonPath& parent = parents[depth++] = own_;
      const JsonPath inner = in_.member(parent, name);
      if (inner.is_there() && inner.value->is_object()) own_ = inner;
    }
    out_.format = "Hugging Face";
    out_.name = "the model";
    out_.architecture = text("model_type");
    const JsonPath quantization = find("quantization_config");
    if (quantization.value != nullptr) {
      out_.quantization = in_.text_if_any(in_.member(quantization, "quant_method"), 60);
    }
    std::string type = text("dtype");
    if (type.empty()) type = text("torch_dtype");
    out_.native_kv_type = type == "float32" ? "f32" : type == "bfloat16" ? "bf16" : "f16";
    const JsonPath both = in_.member(root_, "is_encoder_decoder");
    const bool has_encoder = both.is_there() && in_.flag(both);
    if (in_.error()) return tl::unexpected(*in_.error());
    const auto experts = count_cache(
        {*own_.value, *root_.value, "", "config.json", hugging_face_architectures()}, out_);
    if (!experts) return tl::unexpected(experts.error());
    has_experts_ = *experts > 1;
    if (has_encoder) {
      out_.cache.reset();
      out_.no_cache_reason = "an encoder and a decoder share it, and config.json does not say how";
    } else if (out_.cache && !out_.cache->most.empty() && !is_generating()) {
      out_.cache->bounds.emplace_back("the model may only encode text and keep no cache");
      out_.cache->least.clear();
    }
    return {};
  }

  bool has_experts() const { return has_experts_; }

 private:
  // Where the language model's own part leaves a value out, the whole model's counts.
  JsonPath find(std::string_view name) {
    for (const JsonPath& object : {own_, root_}) {
      const JsonPath at = in_.member(object, name);
      if (at.is_there()) return {at.value, nullptr, name};
    }
    return {};
  }
  std::string text(std::string_view name) { return in_.text_if_any(find(name), 60); }

  bool is_generating() {
    const JsonPath at = in_.member(root_, "architectures");
    if (!at.is_there() || !at.value->is_array() || at.value->empty()) return true;
    return std::any_of(at.value->begin(), at.value->end(), [](const Json& each) {
      if (!each.is_string()) return true;
      const auto& name = each.get_ref<const std::string&>();
      return contains(name, "CausalLM") || contains(name, "ConditionalGeneration") ||
             contains(name, "LMHead") || contains(name, "Chat");
    });
  }

  JsonTaker in_;
  JsonPath root_;
  JsonPath own_;
  ModelFile& out_;
  bool has_experts_ = false;
};

// Names from an index lead to files beside it and nowhere else.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos && name.front() != '.';
}

Result<double> safetensors_file(const std::string& path) {
  const auto file = open_bytes(path);
  if (!file) return tl::unexpected(file.error());
  return read_safetensors(*file);
}

// The files of the weights where no index names them.
std::vector<std::string> safetensors_in(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(folder / "model.safetensors", error)) return {"model.safetensors"};
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.ends_with(".safetensors")) names.push_back(std::move(name));
    if (names.size() > kMostFiles) break;
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> sum_weights(const std::filesystem::path& folder, const std::vector<std::string>& names,
                         ModelFile& out) {
  for (const std::string& name : names) {
    auto bytes = safetensors_file((folder / name).string());
    if (!bytes) return tl::unexpected(std::move(bytes.error()).within(printable(name, 100)));
    out.weights = out.weights.value_or(0) + *bytes;
  }
  return {};
}

Result<void> add_weights(const std::filesystem::path& folder, ModelFile& out) {
  namespace fs = std::filesystem;
  constexpr std::string_view kIndex = "model.safetensors.index.json";
  std::error_code error;
  const fs::path index_path = folder / kIndex;
  if (fs::exists(index_path, error)) {
    const auto text = read_text(index_path.string(), kMostIndexBytes);
    auto index = text ? parse_weight_index(*text) : tl::unexpected(text.error());
    if (!index) return tl::unexpected(std::move(index.error()).within(kIndex));
    std::vector<std::string> there;
    for (const std::string& name : index->files) {
      if (fs::exists(folder / name, error)) there.push_back(name);
    }
    const std::size_t missing = index->files.size() - there.size();
    if (index->total_bytes) {
      out.weights = index->total_bytes;
    } else if (missing == 0) {
      return sum_weights(folder, there, out);
    }
    if (missing > 0) {
      out.notes.push_back(std::to_string(missing) + " of " + std::to_string(index->files.size()) +
                          " files of weights are not there: the model is not complete.");
    }
    return {};
  }
  const std::vector<std::string> names = safetensors_in(folder);
  if (names.size() > kMostFiles) {
    return fail(Errc::kTooLarge, "more than " + std::to_string(kMostFiles) +
                                     " files *.safetensors and no " + std::string(kIndex));
  }
  return sum_weights(folder, names, out);
}

}  // namespace

Result<ModelFile> parse_hugging_face_config(std::string_view text) {
  const auto json = parse_json(text, kConfigBounds);
  if (!json) return tl::unexpected(json.error());
  ModelFile out;
  ConfigParser parser(*json, out);
  if (auto done = parser.run(); !done) return tl::unexpected(std::move(done.error()));
  // Until the weights are known: 0 of all, unless only some are read.
  if (!parser.has_experts()) out.weights_per_token = 0;
  return out;
}

Result<WeightIndex> parse_weight_index(std::string_view text) {
  const auto json = parse_json(text, {kMostIndexBytes, 8, 1U << 20});
  if (!json) return tl::unexpected(json.error());
  JsonTaker in;
  WeightIndex out;
  const JsonPath root{&*json};
  const JsonPath metadata = in.member(root, "metadata");
  out.total_bytes = in.number_if_any(in.member(metadata, "total_size"));
  if (!in.error() && out.total_bytes.value_or(0) > kMostModelBytes) {
    return fail(Errc::kTooLarge, "metadata.total_size is more than 10 TB");
  }
  std::set<std::string> files;
  const JsonPath map = in.member(root, "weight_map");
  bool are_plain = true;
  in.each_member(map, 1U << 20, [&](std::string_view, const JsonPath& file) {
    if (!file.value->is_string()) return void(in.text(file, 255));
    const auto& name = file.value->get_ref<const std::string&>();
    are_plain = are_plain && is_plain_name(name);
    if (are_plain && files.size() <= kMostFiles) files.insert(name);
  });
  if (in.error()) return tl::unexpected(*in.error());
  if (!are_plain) return fail(Errc::kMalformed, "weight_map: expected names of files beside it");
  if (files.size() > kMostFiles) {
    return fail(Errc::kTooLarge,
                "weight_map: expected at most " + std::to_string(kMostFiles) + " files");
  }
  out.files.assign(files.begin(), files.end());
  return out;
}

Result<double> read_safetensors(const ModelBytes& bytes) {
  HeaderReader reader(bytes, kMostTensorsHeaderBytes + 8);
  const std::uint64_t length = reader.number(8, "the length of the header");
  const std::string text = reader.text(length, "a JSON header");
  if (!reader.ok()) return tl::unexpected(reader.error());
  auto json = parse_json(text, kHeaderBounds);
  if (!json) return tl::unexpected(std::move(json.error()).within("byte 8"));
  JsonTaker in;
  std::uint64_t end = 0;
  const JsonPath root{&*json};
  if (!json->is_object()) return fail(Errc::kMalformed, "byte 8: expected an object of tensors");
  in.each_member(root, 1U << 20, [&](std::string_view name, const JsonPath& tensor) {
    if (name == "__metadata__") return;
    const JsonPath offsets = in.member(tensor, "data_offsets");
    std::size_t count = 0;
    in.each(offsets, 2, [&](const JsonPath& at) {
      ++count;
      end = std::max(end, in.count(at, static_cast<std::uint64_t>(kMostModelBytes)));
    });
    if (count != 2) in.count(JsonPath{nullptr, &offsets, {}, count});
  });
  if (in.error()) return tl::unexpected(Error(*in.error()).within("byte 8"));
  if (end > bytes.size - std::min(bytes.size, reader.offset())) {
    return fail(Errc::kMalformed, "byte " + std::to_string(reader.offset()) + ": expected " +
                                      std::to_string(end) + " bytes of tensors, found " +
                                      std::to_string(bytes.size - reader.offset()) +
                                      ": the file is not complete");
  }
  return static_cast<double>(end);
}

Result<ModelFile> read_hugging_face(const std::string& config_path) {
  namespace fs = std::filesystem;
  const auto text = read_text(config_path, kMostConfigBytes);
  if (!text) return tl::unexpected(text.error());
  auto model = parse_hugging_face_config(*text);
  if (!model) return model;
  std::error_code error;
  fs::path folder = fs::path(config_path).parent_path();
  if (folder.empty()) folder = ".";
  const bool reads_all = model->weights_per_token.has_value();
  model->weights_per_token.reset();
  if (auto done = add_weights(folder, *model); !done)
    return tl::unexpected(std::move(done.error()));
  if (!(model->weights.value_or(0) > 0)) {
    model->weights.reset();
    model->no_weights_reason = "no weights in *.safetensors beside config.json";
  }
  if (reads_all) model->weights_per_token = model->weights;
  const fs::path whole = fs::weakly_canonical(folder, error);
  model->name = printable((error ? folder : whole).filename().string(), 60);
  // A snapshot in Hugging Face's own cache: models--OWNER--NAME/snapshots/COMMIT.
  if (whole.parent_path().filename() == "snapshots") {
    std::string owner = whole.parent_path().parent_path().filename().string();
    if (const std::size_t at = owner.rfind("--"); at != std::string::npos) {
      model->name = printable(owner.substr(at + 2), 60);
    }
  }
  if (model->name.empty()) model->name = "model";
  return model;
}

}  // namespace jetmem::plan
