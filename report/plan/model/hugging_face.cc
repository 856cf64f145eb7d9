// SPDX-License-Identifier: Apache-2.0
#include "report/plan/model/hugging_face.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "base/text/text.h"
#include "collectors/probe/json.h"

namespace jetmem::plan {
namespace {

constexpr std::size_t kMostTensorsHeaderBytes = 8U << 20;
constexpr std::size_t kMostFiles = 1024;
constexpr JsonBounds kConfigBounds{kMostConfigBytes, 16, 65536};
constexpr JsonBounds kHeaderBounds{kMostTensorsHeaderBytes, 8, 1U << 20};

// The same value by the names that model families give it.
using Names = std::initializer_list<std::string_view>;

class ConfigParser {
 public:
  ConfigParser(const Json& json, ModelFile& out) : root_{&json}, out_(out) {}

  Result<void> run() {
    if (!root_.value->is_object()) {
      return fail(Errc::kMalformed, "expected an object, as a model's config.json is");
    }
    own_ = root_;
    parents_.reserve(4);  // members point to what they stand within
    // The language model within one that sees or hears.
    for (const std::string_view name :
         {"thinker_config", "text_config", "llm_config", "language_config"}) {
      parents_.push_back(own_);
      const JsonPath inner = in_.member(parents_.back(), name);
      if (inner.is_there() && inner.value->is_object()) own_ = inner;
    }
    out_.format = "Hugging Face";
    out_.architecture = text({"model_type"});
    quantization();
    native_type();
    out_.layers =
        whole({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, kMostLayers).value_or(0);
    out_.trained_context =
        whole({"max_position_embeddings", "n_positions", "max_seq_len", "seq_length"}, 1ULL << 32)
            .value_or(0);
    experts_ = whole({"num_experts", "num_local_experts", "n_routed_experts"}, kMostWidth);
    cache();
    if (in_.error()) return tl::unexpected(*in_.error());
    return {};
  }

  bool has_experts() const { return experts_.value_or(0) > 1; }

 private:
  // Where the language model's own part leaves a value out, the whole model's counts.
  JsonPath find(Names names) {
    for (const JsonPath& object : {own_, root_}) {
      for (const std::string_view name : names) {
        const JsonPath at = in_.member(object, name);
        if (at.is_there()) return {at.value, nullptr, name};
      }
    }
    return {};
  }
  std::optional<std::uint64_t> whole(Names names, std::uint64_t most) {
    const JsonPath at = find(names);
    return at.value == nullptr ? std::nullopt : std::optional(in_.count(at, most));
  }
  std::string text(Names names) {
    const JsonPath at = find(names);
    return at.value == nullptr ? std::string() : in_.text(at, 60);
  }
  bool flag(Names names, bool otherwise) {
    const JsonPath at = find(names);
    return at.value == nullptr ? otherwise : in_.flag(at);
  }

  void quantization() {
    const JsonPath at = find({"quantization_config"});
    if (at.value == nullptr) return;
    out_.quantization = in_.text_if_any(in_.member(at, "quant_method"), 60);
  }

  void native_type() {
    const std::string type = text({"dtype", "torch_dtype"});
    out_.native_kv_type = type == "float32" ? "f32" : type == "bfloat16" ? "bf16" : "f16";
  }

  void unknown(std::string reason) { out_.no_cache_reason = std::move(reason); }
  void bound(std::string reason) { shape_.bounds.push_back(std::move(reason)); }

  // Of one layer; a list has one for each.
  std::optional<std::uint64_t> of_layer(Names names, std::uint64_t layer) {
    const JsonPath at = find(names);
    if (at.value == nullptr) return std::nullopt;
    if (!at.value->is_array()) return in_.count(at, kMostWidth);
    const auto index = static_cast<std::size_t>(layer);
    const auto* const item = index < at.value->size() ? &(*at.value)[index] : nullptr;
    return in_.count({item, &at, {}, index}, kMostWidth);
  }

  void cache() {
    if (flag({"is_encoder_decoder"}, false)) {
      return unknown("an encoder and a decoder share it, and config.json does not say how");
    }
    if (out_.layers == 0) return unknown("num_hidden_layers is missing from config.json");
    const auto heads = whole({"num_attention_heads", "n_head", "n_heads"}, kMostWidth);
    is_recurrent_ = find({"state_size", "ssm_state_size", "mamba_d_state", "linear_num_value_heads",
                          "conv_L_cache"})
                        .value != nullptr;
    if (!heads && is_recurrent_) {
      out_.cache = shape_;
      return note_state();
    }
    if (!heads) return unknown("num_attention_heads is missing from config.json");
    if (*heads == 0) return unknown("num_attention_heads is 0 in config.json");
    const auto hidden = whole({"hidden_size", "n_embd", "d_model"}, kMostWidth);
    auto head = whole({"head_dim"}, kMostWidth);
    if (!head && hidden) head = *hidden / *heads;
    if (!head) return unknown("neither head_dim nor hidden_size is in config.json");
    for (std::uint64_t layer = 0; layer < out_.layers; ++layer) {
      auto kept = of_layer({"num_key_value_heads", "num_kv_heads", "n_head_kv"}, layer);
      if (!kept) kept = flag({"multi_query"}, false) ? 1 : *heads;
      add(layer, *kept, *head);
    }
    finish();
  }

  enum class Kind : std::uint8_t { kFull, kWindowed, kPerhapsWindowed, kNone, kUnknown };
  static Kind kind_of(std::string_view type) {
    if (type == "sliding_attention" || type == "chunked_attention") return Kind::kWindowed;
    if (contains(type, "linear") || contains(type, "mamba") || contains(type, "conv") ||
        type == "recurrent" || type == "mlp" || type == "moe" || type == "M" || type == "-" ||
        type == "E") {
      return Kind::kNone;
    }
    if (type == "full_attention" || type == "attention" || type == "hybrid" || type == "*") {
      return Kind::kFull;
    }
    return Kind::kUnknown;
  }

  Kind kind(std::uint64_t layer) {
    const auto at = static_cast<std::size_t>(layer);
    const JsonPath types = find({"layer_types", "layers_block_type"});
    if (types.value != nullptr && types.value->is_array() && at < types.value->size() &&
        (*types.value)[at].is_string()) {
      return kind_of((*types.value)[at].get_ref<const std::string&>());
    }
    const JsonPath pattern = find({"hybrid_override_pattern"});
    if (pattern.value != nullptr && pattern.value->is_string()) {
      const auto& letters = pattern.value->get_ref<const std::string&>();
      if (at < letters.size()) return kind_of(std::string_view(letters).substr(at, 1));
    }
    if (const auto every = whole({"full_attention_interval"}, kMostLayers); every.value_or(0) > 0) {
      return (layer + 1) % *every == 0 ? Kind::kFull : Kind::kNone;
    }
    if (is_recurrent_) return Kind::kUnknown;
    if (window() == 0) return Kind::kFull;
    if (const auto every = whole({"sliding_window_pattern"}, kMostLayers); every.value_or(0) > 0) {
      return (layer + 1) % *every == 0 ? Kind::kFull : Kind::kWindowed;
    }
    return Kind::kPerhapsWindowed;
  }

  std::uint64_t window() {
    if (!flag({"use_sliding_window"}, true)) return 0;
    return whole({"sliding_window", "attention_chunk_size"}, 1ULL << 32).value_or(0);
  }

  void add(std::uint64_t layer, std::uint64_t heads, std::uint64_t head) {
    const Kind kind = this->kind(layer);
    if (kind == Kind::kNone) {
      ++stateful_;
      return;
    }
    double most = 2.0 * static_cast<double>(heads) * static_cast<double>(head);
    double least = kind == Kind::kUnknown ? 0 : most;
    if (const auto rank = whole({"kv_lora_rank"}, kMostWidth)) {
      const double rope = static_cast<double>(whole({"qk_rope_head_dim"}, kMostWidth).value_or(0));
      const auto plain = whole({"qk_nope_head_dim"}, kMostWidth);
      const auto values = whole({"v_head_dim"}, kMostWidth);
      if (plain && values) {
        most = static_cast<double>(heads) * (static_cast<double>(*plain + *values) + rope);
      }
      least = std::min(most, static_cast<double>(*rank) + rope);
      is_compressed_ = true;
    }
    shape_.most += most;
    shape_.least += least;
    if (kind == Kind::kUnknown) ++unknown_;
    if (kind != Kind::kWindowed && kind != Kind::kPerhapsWindowed) return;
    if (window() == 0) return;
    shape_.windowed += least;
    shape_.window = window();
    ++windowed_;
    is_certain_ = is_certain_ && kind == Kind::kWindowed;
  }

  void finish() {
    if (windowed_ > 0) {
      bound((is_certain_ ? std::to_string(windowed_) + " of " + std::to_string(out_.layers) +
                               " layers look back at most "
                         : std::string("some layers (config.json does not list which) look back at "
                                       "most ")) +
            std::to_string(shape_.window) + " tokens, and a runtime may keep no more");
    }
    if (is_compressed_) bound("a runtime may keep latent attention compressed");
    if (unknown_ > 0) {
      bound("config.json does not say which of " + std::to_string(unknown_) +
            " layers keep keys, or uses words that jetmem does not know");
    }
    if (!is_generating()) {
      bound("the model may only encode text and keep no cache");
      shape_.least = shape_.windowed = 0;
    }
    out_.cache = shape_;
    if (stateful_ > 0 || is_recurrent_) note_state();
  }

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

  void note_state() {
    out_.notes.emplace_back(
        "The state of layers without attention is not counted: it does not grow with the context, "
        "and its size depends on the runtime.");
  }

  JsonTaker in_;
  JsonPath root_;
  JsonPath own_;
  std::vector<JsonPath> parents_;
  ModelFile& out_;
  CacheShape shape_;
  std::optional<std::uint64_t> experts_;
  std::uint64_t windowed_ = 0;
  std::uint64_t unknown_ = 0;
  std::uint64_t stateful_ = 0;
  bool is_recurrent_ = false;
  bool is_compressed_ = false;
  bool is_certain_ = true;
};

// Names from an index lead to files beside it and nowhere else.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos && name.front() != '.';
}

Result<double> safetensors_file(const std::string& path) {
  const auto file = open_bytes(path);
  if (!file) return tl::unexpected(file.error());
  return read_safetensors(file->bytes);
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

Result<void> add_weights(const std::filesystem::path& folder, ModelFile& out) {
  namespace fs = std::filesystem;
  constexpr std::string_view kIndex = "model.safetensors.index.json";
  std::error_code error;
  const fs::path index_path = folder / kIndex;
  if (fs::exists(index_path, error)) {
    const auto text = read_text(index_path.string(), kMostIndexBytes);
    auto index = text ? parse_weight_index(*text) : tl::unexpected(text.error());
    if (!index) return tl::unexpected(std::move(index.error()).within(kIndex));
    out.weights = index->total_bytes;
    std::size_t missing = 0;
    for (const std::string& name : index->files) {
      if (!fs::exists(folder / name, error)) ++missing;
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
  for (const std::string& name : names) {
    auto bytes = safetensors_file((folder / name).string());
    if (!bytes) return tl::unexpected(std::move(bytes.error()).within(printable(name, 100)));
    out.weights = out.weights.value_or(0) + *bytes;
  }
  return {};
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
  const JsonPath total = in.member(metadata, "total_size");
  out.total_bytes = in.number(total);
  if (!in.error() && out.total_bytes > kMostModelBytes) {
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

Result<double> read_safetensors(const ByteSource& bytes) {
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
