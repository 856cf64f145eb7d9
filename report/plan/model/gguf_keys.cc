// SPDX-License-Identifier: Apache-2.0
#include "report/plan/model/gguf_keys.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"

namespace jetmem::plan {
namespace {

constexpr std::array<std::string_view, 4> kTexts{kArchitectureKey, "general.name",
                                                 "general.basename", "general.size_label"};
constexpr std::array<std::string_view, 3> kWhole{"general.alignment", "split.count", "split.no"};
// Behind the architecture.
constexpr std::array<std::string_view, 25> kOfArchitecture{"block_count",
                                                           "context_length",
                                                           "embedding_length",
                                                           "attention.head_count",
                                                           "attention.head_count_kv",
                                                           "attention.key_length",
                                                           "attention.value_length",
                                                           "attention.key_length_swa",
                                                           "attention.value_length_swa",
                                                           "attention.key_length_mla",
                                                           "attention.kv_lora_rank",
                                                           "attention.sliding_window",
                                                           "attention.sliding_window_pattern",
                                                           "attention.chunk_size",
                                                           "attention.shared_kv_layers",
                                                           "attention.causal",
                                                           "rope.dimension_count",
                                                           "full_attention_interval",
                                                           "nextn_predict_layers",
                                                           "decoder_block_count",
                                                           "expert_count",
                                                           "expert_used_count",
                                                           "ssm.state_size",
                                                           "ssm.conv_kernel",
                                                           "wkv.head_size"};

template <class Names>
bool is_in(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What the cache holds, layer by layer.
class CacheCounter {
 public:
  CacheCounter(const GgufKeys& keys, ModelFile& out) : keys_(keys), out_(out) {}

  void run() {
    if (!is_generating()) return;
    if (keys_.has("decoder_block_count")) {
      return unknown("an encoder and a decoder share it, and the header does not say how");
    }
    interval_ = keys_.number("full_attention_interval").value_or(0);
    const bool is_recurrent =
        keys_.has("ssm.state_size") || keys_.has("ssm.conv_kernel") || keys_.has("wkv.head_size");
    for (std::uint64_t layer = 0; layer < out_.layers; ++layer) {
      if (!add(layer)) return;
    }
    out_.cache = shape_;
    if (is_recurrent) {
      out_.notes.push_back("The state of " + out_.name +
                           "'s recurrent layers is not counted: it does not grow with the "
                           "context, and its size depends on the runtime.");
      if (interval_ == 0 && !keys_.is_list("attention.head_count_kv") && shape_.most > 0) {
        upper_bound("which layers are recurrent and keep no keys is not in the header");
        out_.cache->least = out_.cache->windowed = 0;
      }
    }
    if (windowed_layers_ > 0) note_window();
    note_compressed();
    drop_last("nextn_predict_layers", "the last layers predict further tokens and may be unused");
    drop_last("attention.shared_kv_layers", "the last layers share the keys of earlier ones");
  }

 private:
  void unknown(std::string reason) { out_.no_cache_reason = std::move(reason); }
  void upper_bound(std::string_view reason) { out_.cache->bounds.emplace_back(reason); }

  bool is_generating() {
    if (out_.architecture == "clip") {
      out_.notes.push_back(out_.name + " is a projector for images or sound: it has no KV cache.");
      out_.cache = CacheShape();
      return false;
    }
    if (keys_.number("attention.causal") == 0U) {
      out_.notes.push_back(out_.name + " encodes text and generates none: it has no KV cache.");
      out_.cache = CacheShape();
      return false;
    }
    return true;
  }

  std::optional<std::uint64_t> needed(std::string_view key, std::uint64_t layer) {
    const auto value = keys_.of_layer(key, layer);
    if (!value) unknown(out_.architecture + "." + std::string(key) + " is missing");
    return value;
  }

  // Of a head's keys or values.
  std::optional<std::uint64_t> length(std::string_view key, std::string_view of_window,
                                      bool is_windowed, std::uint64_t layer) {
    if (is_windowed) {
      if (const auto value = keys_.of_layer(of_window, layer)) return value;
    }
    if (const auto value = keys_.of_layer(key, layer)) return value;
    const auto embedding = needed("embedding_length", layer);
    const auto heads = needed("attention.head_count", layer);
    if (!embedding || !heads) return std::nullopt;
    return *heads == 0 ? 0 : *embedding / *heads;
  }

  // Whether a layer has a window; `certain`: the file says so of this layer.
  bool is_windowed(std::uint64_t layer) const {
    if (window() == 0) return false;
    if (keys_.is_list("attention.sliding_window_pattern")) {
      return keys_.of_layer("attention.sliding_window_pattern", layer).value_or(1) != 0;
    }
    // Every n-th layer sees all of the context.
    const std::uint64_t every = keys_.number("attention.sliding_window_pattern").value_or(0);
    return every == 0 || layer % every < every - 1;
  }

  std::uint64_t window() const {
    return keys_.number("attention.sliding_window")
        .value_or(keys_.number("attention.chunk_size").value_or(0));
  }

  bool add(std::uint64_t layer) {
    // Layers between those with attention keep a state instead of keys.
    if (interval_ > 0 && (layer + 1) % interval_ != 0) {
      per_layer_.push_back(0);
      return true;
    }
    auto heads = keys_.of_layer("attention.head_count_kv", layer);
    if (!heads) heads = needed("attention.head_count", layer);
    if (!heads) return false;
    double numbers = 0;
    double least = 0;
    const bool has_window = is_windowed(layer);
    if (*heads > 0) {
      const auto keys =
          length("attention.key_length", "attention.key_length_swa", has_window, layer);
      const auto values =
          length("attention.value_length", "attention.value_length_swa", has_window, layer);
      if (!keys || !values) return false;
      numbers = static_cast<double>(*heads) * static_cast<double>(*keys + *values);
      least = std::min(numbers, compressed(*heads, *keys).value_or(numbers));
    }
    shape_.most += numbers;
    shape_.least += least;
    per_layer_.push_back(least);
    if (has_window && least > 0) {
      shape_.windowed += least;
      shape_.window = window();
      ++windowed_layers_;
    }
    return true;
  }

  // Multi-head latent attention keeps one compressed row for keys and values of all heads.
  std::optional<double> compressed(std::uint64_t heads, std::uint64_t keys) const {
    // Converted for it: one head, whose keys are that row.
    if (keys_.has("attention.key_length_mla")) {
      return static_cast<double>(heads) * static_cast<double>(keys);
    }
    const auto rank = keys_.number("attention.kv_lora_rank");
    if (!rank) return std::nullopt;
    return static_cast<double>(*rank + keys_.number("rope.dimension_count").value_or(0));
  }

  void note_window() {
    const bool is_certain = keys_.has("attention.sliding_window_pattern");
    std::string layers = std::to_string(windowed_layers_) + " of " + std::to_string(out_.layers) +
                         " layers look back at most ";
    if (!is_certain) {
      layers = "some layers (the header does not list which) look back at most ";
    }
    upper_bound(layers + std::to_string(shape_.window) + " tokens, and a runtime may keep no more");
  }

  void note_compressed() {
    if (shape_.least < shape_.most &&
        (keys_.has("attention.kv_lora_rank") || keys_.has("attention.key_length_mla"))) {
      upper_bound("a runtime may keep latent attention compressed");
    }
  }

  void drop_last(std::string_view key, std::string_view why) {
    const auto count = keys_.number(key).value_or(0);
    if (count == 0 || !out_.cache) return;
    for (std::uint64_t i = 0; i < count && i < per_layer_.size(); ++i) {
      out_.cache->least -= per_layer_[per_layer_.size() - 1 - static_cast<std::size_t>(i)];
    }
    // Which of the rest have a window is then not known: none is assumed to be the longer.
    out_.cache->least = std::max(0.0, out_.cache->least);
    out_.cache->windowed = std::min(out_.cache->windowed, out_.cache->least);
    upper_bound(why);
  }

  const GgufKeys& keys_;
  ModelFile& out_;
  CacheShape shape_;
  std::vector<double> per_layer_;
  std::uint64_t interval_ = 0;
  std::uint64_t windowed_layers_ = 0;
};

}  // namespace

std::string_view GgufKeys::without_architecture(std::string_view key) const {
  const std::string_view architecture = text(kArchitectureKey);
  if (architecture.empty() || !take_prefix(key, architecture) || !take_prefix(key, ".")) return {};
  return is_in(kOfArchitecture, key) ? key : std::string_view();
}

std::string GgufKeys::stored_name(std::string_view key) const {
  const std::string_view rest = without_architecture(key);
  return std::string(rest.empty() ? key : rest);
}

bool GgufKeys::is_wanted(std::string_view key) const {
  return is_in(kTexts, key) || is_in(kWhole, key) || !without_architecture(key).empty();
}

void GgufKeys::put(std::string_view key, std::vector<std::uint64_t> numbers) {
  numbers_.emplace(stored_name(key), std::move(numbers));
}
void GgufKeys::put_text(std::string_view key, std::string text) {
  texts_.emplace(stored_name(key), std::move(text));
}

std::string_view GgufKeys::text(std::string_view key) const {
  const auto found = texts_.find(std::string(key));
  return found == texts_.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<std::uint64_t> GgufKeys::number(std::string_view key) const {
  const auto found = numbers_.find(std::string(key));
  if (found == numbers_.end() || found->second.size() != 1) return std::nullopt;
  return found->second.front();
}

std::optional<std::uint64_t> GgufKeys::of_layer(std::string_view key, std::uint64_t layer) const {
  const auto found = numbers_.find(std::string(key));
  if (found == numbers_.end()) return std::nullopt;
  const std::vector<std::uint64_t>& list = found->second;
  if (list.size() == 1) return list.front();
  if (layer >= list.size()) return std::nullopt;
  return list[static_cast<std::size_t>(layer)];
}

bool GgufKeys::is_list(std::string_view key) const {
  const auto found = numbers_.find(std::string(key));
  return found != numbers_.end() && found->second.size() > 1;
}

void take_keys(const GgufKeys& keys, ModelFile& out) {
  out.architecture = printable(keys.text(kArchitectureKey), 60);
  for (const std::string_view key :
       {std::string_view("general.name"), std::string_view("general.basename"), kArchitectureKey}) {
    if (out.name.empty()) out.name = printable(keys.text(key), 60);
  }
  if (out.name.empty()) out.name = "model";
  out.layers = keys.number("block_count").value_or(0);
  out.trained_context = keys.number("context_length").value_or(0);
  if (out.layers > kMostLayers) {
    out.no_cache_reason = "block_count is " + std::to_string(out.layers) + ", expected at most " +
                          std::to_string(kMostLayers);
  } else if (out.layers > 0 || out.architecture == "clip") {
    CacheCounter(keys, out).run();
  } else {
    out.no_cache_reason = (out.architecture.empty() ? std::string(kArchitectureKey)
                                                    : out.architecture + ".block_count") +
                          " is missing";
  }
}

}  // namespace jetmem::plan
