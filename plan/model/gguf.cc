// SPDX-License-Identifier: Apache-2.0
#include "plan/model/gguf.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"
#include "plan/model/cache_counter.h"

namespace jetmem::plan {
namespace {

constexpr std::uint64_t kMostGgufHeaderBytes = 64ULL << 20;
constexpr std::uint64_t kMostKeys = 65536;
constexpr std::uint64_t kMostTensors = 262144;
constexpr std::uint64_t kMostNameBytes = 65535;
constexpr std::uint64_t kMostDimensions = 4;
constexpr std::uint64_t kMostNested = 4;
constexpr std::string_view kArchitectureKey = "general.architecture";
// Beside those of the architecture itself.
constexpr std::array<std::string_view, 6> kGeneralKeys{kArchitectureKey,   "general.name",
                                                       "general.basename", "general.alignment",
                                                       "split.count",      "split.no"};
constexpr std::size_t kMostKept = 256;
constexpr std::uint32_t kText = 8;
constexpr std::uint32_t kList = 9;
constexpr std::uint32_t kFloat = 6;
constexpr std::uint32_t kDouble = 12;

// Bytes of a value by its type; 0: not of a fixed size.
constexpr std::array<std::uint8_t, 13> kWidths{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// ggml's types of a tensor: so many numbers are so many bytes. Not here: those that were removed,
// and what is newer.
struct TensorType {
  std::uint32_t number;
  std::uint32_t block;
  std::uint32_t bytes;
};
constexpr std::array kTensorTypes{
    TensorType{0, 1, 4},       // F32
    TensorType{1, 1, 2},       // F16
    TensorType{2, 32, 18},     // Q4_0
    TensorType{3, 32, 20},     // Q4_1
    TensorType{6, 32, 22},     // Q5_0
    TensorType{7, 32, 24},     // Q5_1
    TensorType{8, 32, 34},     // Q8_0
    TensorType{9, 32, 36},     // Q8_1
    TensorType{10, 256, 84},   // Q2_K
    TensorType{11, 256, 110},  // Q3_K
    TensorType{12, 256, 144},  // Q4_K
    TensorType{13, 256, 176},  // Q5_K
    TensorType{14, 256, 210},  // Q6_K
    TensorType{15, 256, 292},  // Q8_K
    TensorType{16, 256, 66},   // IQ2_XXS
    TensorType{17, 256, 74},   // IQ2_XS
    TensorType{18, 256, 98},   // IQ3_XXS
    TensorType{19, 256, 50},   // IQ1_S
    TensorType{20, 32, 18},    // IQ4_NL
    TensorType{21, 256, 110},  // IQ3_S
    TensorType{22, 256, 82},   // IQ2_S
    TensorType{23, 256, 136},  // IQ4_XS
    TensorType{24, 1, 1},      // I8
    TensorType{25, 1, 2},      // I16
    TensorType{26, 1, 4},      // I32
    TensorType{27, 1, 8},      // I64
    TensorType{28, 1, 8},      // F64
    TensorType{29, 256, 56},   // IQ1_M
    TensorType{30, 1, 2},      // BF16
    TensorType{34, 256, 54},   // TQ1_0
    TensorType{35, 256, 66},   // TQ2_0
    TensorType{39, 32, 17},    // MXFP4
};

const TensorType* tensor_type(std::uint64_t number) {
  const auto* found = std::find_if(kTensorTypes.begin(), kTensorTypes.end(),
                                   [&](const TensorType& each) { return each.number == number; });
  return found == kTensorTypes.end() ? nullptr : found;
}

// What one token reads; absent: of the experts it is not known.
std::optional<double> bytes_per_token(const GgufFile& file, double weights) {
  const TensorSums& tensors = file.tensors;
  if (tensors.has_unknown_type) return std::nullopt;
  double read = weights;
  // Of the table of tokens one row is read, unless it is the output's matrix too.
  if (tensors.has_output) read -= tensors.embedding;
  if (file.experts == 0 && !(tensors.experts > 0)) return read;
  const auto used = file.experts_used;
  if (file.experts == 0 || !(tensors.experts > 0) || !used || *used > file.experts) {
    return std::nullopt;
  }
  const double share = static_cast<double>(*used) / static_cast<double>(file.experts);
  return read - tensors.experts * (1 - share);
}

void set_weights(GgufFile& file) {
  ModelFile& model = file.model;
  model.weights = file.tensors.all;
  model.weights_per_token.reset();
  model.no_weights_reason.clear();
  if (!model.weights) {
    model.no_weights_reason = "a tensor's type is unknown, and the file ends before its data";
  } else if (*model.weights > 0) {
    model.weights_per_token = bytes_per_token(file, *model.weights);
  } else {
    model.weights.reset();
    model.no_weights_reason = "the header lists no weights";
  }
}

class GgufParser {
 public:
  explicit GgufParser(const ModelBytes& bytes) : bytes_(bytes), in_(bytes, kMostGgufHeaderBytes) {}

  Result<GgufFile> run() {
    head();
    find_architecture();
    for (std::uint64_t i = 0; i < keys_count_ && in_.ok(); ++i) key();
    for (std::uint64_t i = 0; i < tensors_count_ && in_.ok(); ++i) tensor();
    if (in_.ok()) finish();
    if (!in_.ok()) return tl::unexpected(in_.error());
    return std::move(out_);
  }

 private:
  void head() {
    if (in_.text(4, "'GGUF'") != "GGUF") in_.fail_at(0, "expected 'GGUF'");
    const auto version = static_cast<std::uint32_t>(in_.number(4, "the version"));
    if (version != 2 && version != 3) {
      in_.fail_at(4, (version & 0xffffU) == 0 && version != 0
                         ? std::string("the file is big-endian, expected little-endian")
                         : "expected version 2 or 3, found " + std::to_string(version));
    }
    out_.model.format = "GGUF " + std::to_string(version);
    tensors_count_ = count("tensors", kMostTensors);
    keys_count_ = count("keys", kMostKeys);
  }

  std::uint64_t count(std::string_view what, std::uint64_t most) {
    const std::uint64_t at = in_.offset();
    const std::uint64_t count = in_.number(8, "the number of " + std::string(what));
    if (count > most) {
      in_.fail_at(at,
                  "expected at most " + std::to_string(most) + " " + std::string(what) +
                      ", found " + std::to_string(count),
                  Errc::kTooLarge);
    }
    return in_.ok() ? count : 0;
  }

  std::string name(std::string_view what) {
    const std::uint64_t at = in_.offset();
    const std::uint64_t length = in_.number(8, "the length of " + std::string(what));
    if (length > kMostNameBytes) {
      in_.fail_at(at, "expected " + std::string(what) + " of at most " +
                          std::to_string(kMostNameBytes) + " bytes, found " +
                          std::to_string(length));
    }
    return in_.text(length, what);
  }

  // It may come after the keys that begin with it.
  void find_architecture() {
    const std::uint64_t first_key = in_.offset();
    for (std::uint64_t i = 0; i < keys_count_ && architecture_.empty(); ++i) {
      const std::string key = name("a key");
      const std::uint32_t type = value_type();
      if (!in_.ok()) return;
      if (key == kArchitectureKey && type == kText) {
        architecture_ = name("the text of " + key);
      } else {
        skip_value(type, 0);
      }
    }
    in_.return_to(first_key);
  }

  // Of the file's own architecture without it: "block_count" of "llama.block_count". Null: not
  // kept.
  Json* kept(std::string_view key) {
    const bool is_general =
        std::find(kGeneralKeys.begin(), kGeneralKeys.end(), key) != kGeneralKeys.end();
    std::string_view own = key;
    const bool is_own =
        !architecture_.empty() && take_prefix(own, architecture_) && take_prefix(own, ".");
    if (!is_general && !is_own) return nullptr;
    Json& object = is_own ? keys_ : general_;
    if (object.size() >= kMostKept && !object.contains(own)) {
      in_.fail_at(in_.offset(),
                  "expected at most " + std::to_string(kMostKept) + " keys of the architecture",
                  Errc::kTooLarge);
      return nullptr;
    }
    return &object[std::string(own)];
  }

  void key() {
    const std::string key = name("a key");
    const std::uint32_t type = value_type();
    if (!in_.ok()) return;
    Json* const value = kept(key);
    if (value == nullptr) return skip_value(type, 0);
    if (type == kText) {
      *value = printable(name("the text of " + printable(key, 60)), 200);
    } else if (type == kFloat || type == kDouble) {
      skip_value(type, 0);
    } else if (type != kList) {
      *value = number(type, key);
    } else {
      list(key, *value);
    }
  }

  void list(const std::string& key, Json& into) {
    const std::uint64_t start = in_.offset();
    const std::uint32_t item = value_type();
    const std::uint64_t at = in_.offset();
    const std::uint64_t length = in_.number(8, "the length of a list");
    if (!in_.ok()) return;
    if (item == kText || item == kList || item == kFloat || item == kDouble ||
        length > kMostLayers) {
      in_.return_to(start);
      return skip_value(kList, 0);
    }
    // Sections of rope and the like are not lists of layers.
    const bool is_of_layers = contains(key, ".attention.");
    if (is_of_layers && (!shortest_ || length < shortest_->length)) {
      shortest_ = LayerList{key, at, length};
    }
    into = Json::array();
    for (std::uint64_t i = 0; i < length && in_.ok(); ++i) into.push_back(number(item, key));
  }

  std::uint32_t value_type() {
    const std::uint64_t at = in_.offset();
    const std::uint64_t type = in_.number(4, "a type");
    if (type >= kWidths.size()) {
      in_.fail_at(at, "expected a value's type from 0 to 12, found " + std::to_string(type));
      return 0;
    }
    return static_cast<std::uint32_t>(type);
  }

  std::uint64_t number(std::uint32_t type, std::string_view key) {
    const std::uint64_t at = in_.offset();
    const std::size_t width = kWidths[type];
    const std::uint64_t value = in_.number(width, "a number");
    const bool is_signed = type == 1 || type == 3 || type == 5 || type == 11;
    const bool is_negative = is_signed && (value >> (width * 8 - 1) & 1) != 0;
    if (is_negative || value > 1ULL << 40) {
      in_.fail_at(at, "expected " + printable(key, 60) + " from 0 to 2^40");
      return 0;
    }
    return value;
  }

  void skip_value(std::uint32_t type, std::uint64_t depth) {
    if (type == kText) {
      const std::uint64_t length = in_.number(8, "the length of a text");
      return in_.skip(length, "a text");
    }
    if (type != kList) return in_.skip(kWidths[type], "a value");
    const std::uint64_t at = in_.offset();
    if (depth >= kMostNested) {
      return in_.fail_at(at,
                         "expected lists nested at most " + std::to_string(kMostNested) + " deep");
    }
    const std::uint32_t item = value_type();
    const std::uint64_t length = in_.number(8, "the length of a list");
    if (!in_.ok()) return;
    if (kWidths[item] == 0) {
      // Each takes 8 bytes at least, so the bound on the header ends it.
      for (std::uint64_t i = 0; i < length && in_.ok(); ++i) skip_value(item, depth + 1);
    } else if (length > kMostGgufHeaderBytes) {
      in_.fail_at(at,
                  "expected a list of at most " + std::to_string(kMostGgufHeaderBytes) +
                      " values, found " + std::to_string(length),
                  Errc::kTooLarge);
    } else {
      in_.skip(length * kWidths[item], "a list");
    }
  }

  void tensor() {
    const std::string tensor = name("a tensor's name");
    const std::uint64_t at = in_.offset();
    const std::uint64_t dimensions = in_.number(4, "the number of dimensions");
    if (dimensions == 0 || dimensions > kMostDimensions) {
      return in_.fail_at(at, "expected 1 to 4 dimensions of " + printable(tensor, 60) + ", found " +
                                 std::to_string(dimensions));
    }
    std::uint64_t row = 1;
    double rows = 1;
    for (std::uint64_t i = 0; i < dimensions; ++i) {
      const std::uint64_t length = in_.number(8, "a dimension");
      if (i == 0) row = length;
      if (i > 0) rows *= static_cast<double>(length);
    }
    const std::uint64_t type_at = in_.offset();
    const std::uint64_t type = in_.number(4, "a tensor's type");
    in_.number(8, "a tensor's offset");
    if (!in_.ok()) return;
    const TensorType* const known = tensor_type(type);
    if (known == nullptr) {
      if (!unknown_type_) unknown_type_ = type;
      return;
    }
    if (row % known->block != 0) {
      return in_.fail_at(type_at, "expected rows of " + printable(tensor, 60) +
                                      " in multiples of " + std::to_string(known->block) +
                                      ", found " + std::to_string(row));
    }
    const auto blocks = row / known->block;
    const double size = static_cast<double>(blocks) * known->bytes * rows;
    weights_ += size;
    if (!(weights_ <= kMostModelBytes)) {
      return in_.fail_at(at, "the tensors take more than 10 TB", Errc::kTooLarge);
    }
    if (tensor == "token_embd.weight") {
      out_.tensors.embedding = size;
    } else if (tensor == "output.weight") {
      out_.tensors.has_output = true;
    } else if (contains(tensor, "_exps.")) {
      out_.tensors.experts += size;
    }
  }

  void take_keys() {
    ModelFile& model = out_.model;
    model.architecture = printable(architecture_, 60);
    for (const char* key : {"general.name", "general.basename"}) {
      const auto found = general_.find(key);
      if (model.name.empty() && found != general_.end() && found->is_string()) {
        model.name = printable(found->get_ref<const std::string&>(), 60);
      }
    }
    if (model.name.empty()) model.name = architecture_.empty() ? "model" : model.architecture;
    if (architecture_.empty()) {
      model.no_cache_reason = std::string(kArchitectureKey) + " is missing";
      return;
    }
    if (keys_.contains("decoder_block_count")) {
      model.no_cache_reason = "an encoder and a decoder share it, and the header does not say how";
    }
    const auto causal = keys_.find("attention.causal");
    if (causal != keys_.end() && *causal == 0) {
      model.notes.push_back(model.name + " encodes and has no KV cache.");
      model.cache = CacheShape();
    }
    ModelFile counted = model;
    const auto read = count_cache(
        {keys_, keys_, model.architecture + ".", "the header", gguf_architectures()}, counted);
    model.layers = counted.layers;
    model.trained_context = counted.trained_context;
    if (!read) {
      if (model.no_cache_reason.empty() && !model.cache) {
        model.no_cache_reason = read.error().message;
      }
      return;
    }
    out_.experts = *read;
    if (model.no_cache_reason.empty() && !model.cache) model = std::move(counted);
  }

  std::optional<std::uint64_t> general(const Json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
    return found->get<std::uint64_t>();
  }

  void finish() {
    ModelFile& model = out_.model;
    take_keys();
    out_.split_count = general(general_, "split.count").value_or(1);
    out_.split_number = general(general_, "split.no").value_or(0);
    out_.experts_used = general(keys_, "expert_used_count");
    if (shortest_ && shortest_->length < model.layers) {
      return in_.fail_at(shortest_->at, "expected " + printable(shortest_->key, 60) + " for " +
                                            std::to_string(model.layers) + " layers, found " +
                                            std::to_string(shortest_->length));
    }
    const std::uint64_t alignment =
        std::clamp<std::uint64_t>(general(general_, "general.alignment").value_or(32), 1, 1U << 20);
    const std::uint64_t data = (in_.offset() + alignment - 1) / alignment * alignment;
    const double rest = static_cast<double>(bytes_.size - std::min(data, bytes_.size));
    out_.tensors.all = weights_;
    if (!unknown_type_) {
      if (weights_ > rest) {
        model.notes.push_back("The file of " + model.name +
                              " is shorter than its weights: it is not complete.");
      }
    } else if (rest > 0) {
      model.notes.push_back("The weights of " + model.name +
                            " are the rest of the file: how large a tensor of type " +
                            std::to_string(*unknown_type_) + " is is not known here.");
      out_.tensors.all = rest;
    } else {
      out_.tensors.all.reset();
    }
    out_.tensors.has_unknown_type = unknown_type_.has_value();
    set_weights(out_);
  }

  const ModelBytes& bytes_;
  HeaderReader in_;
  std::string architecture_;
  Json general_ = Json::object();
  Json keys_ = Json::object();  // of the architecture
  GgufFile out_;
  std::uint64_t keys_count_ = 0;
  std::uint64_t tensors_count_ = 0;
  double weights_ = 0;
  std::optional<std::uint64_t> unknown_type_;
  struct LayerList {
    std::string key;
    std::uint64_t at = 0;
    std::uint64_t length = 0;
  };
  std::optional<LayerList> shortest_;
};

}  // namespace

Result<GgufFile> read_gguf(const ModelBytes& bytes) { return GgufParser(bytes).run(); }

void add_part(GgufFile part, GgufFile& whole) {
  TensorSums& sums = whole.tensors;
  if (sums.all && part.tensors.all) {
    *sums.all += *part.tensors.all;
  } else {
    sums.all.reset();
  }
  sums.has_unknown_type = sums.has_unknown_type || part.tensors.has_unknown_type;
  sums.embedding += part.tensors.embedding;
  sums.experts += part.tensors.experts;
  sums.has_output = sums.has_output || part.tensors.has_output;
  for (std::string& note : part.model.notes) whole.model.notes.push_back(std::move(note));
  set_weights(whole);
}

}  // namespace jetmem::plan
