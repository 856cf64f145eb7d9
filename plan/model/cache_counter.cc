// SPDX-License-Identifier: Apache-2.0
#include "plan/model/cache_counter.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/text/text.h"

namespace jetmem::plan {
namespace {

enum class Kind : std::uint8_t { kFull, kAttention, kWindowed, kNone, kShared, kUnknown };

struct Word {
  std::string_view word;
  Kind kind;
};
constexpr std::array kWords{
    Word{"full_attention", Kind::kFull},
    Word{"G", Kind::kFull},
    Word{"attention", Kind::kAttention},
    Word{"hybrid", Kind::kAttention},
    Word{"*", Kind::kAttention},
    Word{"sliding_attention", Kind::kWindowed},
    Word{"chunked_attention", Kind::kWindowed},
    Word{"L", Kind::kWindowed},
    Word{"linear_attention", Kind::kNone},
    Word{"mamba", Kind::kNone},
    Word{"mamba2", Kind::kNone},
    Word{"conv", Kind::kNone},
    Word{"recurrent", Kind::kNone},
    Word{"mlp", Kind::kNone},
    Word{"moe", Kind::kNone},
    Word{"M", Kind::kNone},
    Word{"-", Kind::kNone},
    Word{"E", Kind::kNone},
};

Kind kind_of(std::string_view word) {
  const auto* found = std::find_if(kWords.begin(), kWords.end(),
                                   [&](const Word& each) { return each.word == word; });
  return found == kWords.end() ? Kind::kUnknown : found->kind;
}

// Switched off: neither a window nor a flag.
bool is_off(const Json& value) {
  return value.is_null() || value == false || (value.is_number() && value <= 0) ||
         ((value.is_array() || value.is_string()) && value.size() == 0);
}

bool contains_any(std::string_view name, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return contains(name, word); });
}

// The member of such a name, or of an object within; null if it is not there.
const Json* member(const Json& object, std::string_view name, std::uint64_t layer) {
  if (object.is_object()) {
    if (const auto found = object.find(name); found != object.end()) return &*found;
  }
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const std::string_view first = name.substr(0, dot);
  const Json* inner = nullptr;
  if (first != "*") {
    const auto found = object.is_object() ? object.find(first) : object.end();
    if (object.is_object() && found != object.end()) inner = &*found;
  } else if (object.is_array() && layer < object.size()) {
    inner = &object[static_cast<std::size_t>(layer)];
  }
  return inner == nullptr ? nullptr : member(*inner, name.substr(dot + 1), layer);
}

class CacheCounter {
 public:
  CacheCounter(const ModelKeys& keys, ModelFile& out)
      : keys_(keys),
        out_(out),
        known_(architecture_named(keys.all, out.architecture)),
        architecture_(known_ != nullptr ? *known_ : keys.all.unknown),
        defaults_(Json::parse(architecture_.defaults, nullptr, false)) {}

  Result<std::uint64_t> run() {
    const auto layers = number(Part::kLayers);
    out_.trained_context = number(Part::kContext).value_or(0);
    const std::uint64_t experts = number(Part::kExperts).value_or(0);
    if (!in_.error()) {
      out_.layers = layers.value_or(0);
      count(layers);
    }
    if (in_.error()) return tl::unexpected(*in_.error());
    return experts;
  }

 private:
  // --- What the keys say ---

  std::span<const Term> terms(Part part) const {
    return architecture_.parts[static_cast<std::size_t>(part)];
  }

  // Of a key; a null switches off the library's default as well.
  const Json* find(std::string_view key, std::uint64_t layer, bool with_defaults = true) const {
    for (const Json* object : {&keys_.own, &keys_.whole, &defaults_}) {
      const Json* const value = member(*object, key, layer);
      if (value == nullptr || (object == &defaults_ && !with_defaults)) continue;
      return value->is_null() || (value->is_array() && value->empty()) ? nullptr : value;
    }
    return nullptr;
  }

  bool applies(const Term& term, std::uint64_t layer) const {
    if (term.when.empty()) return true;
    const Json* const value = find(term.when, layer);
    if (value == nullptr) return false;
    if (term.is.empty()) return !is_off(*value);
    return value->is_string() ? value->get_ref<const std::string&>() == term.is
                              : value->dump() == term.is;
  }

  struct Value {
    const Json* json = nullptr;
    Json own_number;
    std::string_view key;
  };
  std::optional<Value> value(Part part, std::uint64_t layer = 0) {
    for (const bool with_defaults : {false, true}) {
      for (const Term& term : terms(part)) {
        if (!applies(term, layer)) continue;
        if (term.key.empty()) return Value{nullptr, term.number, {}};
        const Json* const json = find(term.key, layer, with_defaults);
        if (json == nullptr) continue;
        if (with_defaults) filled_in_.insert(term.key);
        return Value{json, {}, term.key};
      }
    }
    return std::nullopt;
  }

  // Of one layer, where it is a list.
  std::optional<std::uint64_t> number(Part part, std::uint64_t layer = 0) {
    const std::optional<Value> found = value(part, layer);
    if (!found) return std::nullopt;
    const bool is_tokens = part == Part::kContext || part == Part::kWindow;
    const std::uint64_t most = part == Part::kLayers ? kMostLayers
                               : is_tokens           ? 1ULL << 40
                                                     : kMostWidth;
    const JsonPath at{found->json != nullptr ? found->json : &found->own_number, nullptr,
                      found->key};
    JsonPath item = at;
    if (at.value->is_array()) {
      const auto index = static_cast<std::size_t>(layer);
      item = {index < at.value->size() ? &(*at.value)[index] : nullptr, &at, {}, index};
    }
    if (item.value != nullptr && item.value->is_boolean()) return item.value->get<bool>() ? 1 : 0;
    const bool can_be_off = part == Part::kWindow || part == Part::kLastShare;
    if (can_be_off && item.value != nullptr && is_off(*item.value)) return 0;
    return in_.count(item, most);
  }

  bool any(Part part, std::uint64_t layer) const {
    const auto list = terms(part);
    return std::any_of(list.begin(), list.end(), [&](const Term& term) {
      const Json* value = find(term.key, layer);
      if (value != nullptr && value->is_array()) {
        value = layer < value->size() ? &(*value)[static_cast<std::size_t>(layer)] : nullptr;
      }
      return value != nullptr && !is_off(*value);
    });
  }

  std::string name_of(Part part) const {
    const auto list = terms(part);
    return keys_.prefix + (list.empty() ? std::string() : std::string(list.front().key));
  }
  void missing(Part part) {
    out_.no_cache_reason = name_of(part) + " is missing from " + std::string(keys_.source);
  }

  // --- Keys that nothing here names ---

  bool is_named(std::string_view key) const {
    const auto leads = [&](std::string_view name) {
      return name == key || (name.starts_with(key) && name.substr(key.size()).starts_with('.'));
    };
    if (std::any_of(architecture_.also.begin(), architecture_.also.end(), leads)) return true;
    return std::any_of(architecture_.parts.begin(), architecture_.parts.end(), [&](auto list) {
      return std::any_of(list.begin(), list.end(), [&](const Term& term) {
        return leads(term.when) || (leads(term.key) && applies(term, 0));
      });
    });
  }

  void add_unnamed(const Json& object, const std::string& above, std::vector<std::string>& out) {
    for (const auto& [name, value] : object.items()) {
      if (is_off(value) || contains_any(name, keys_.all.harmless) ||
          !contains_any(name, keys_.all.telling)) {
        continue;
      }
      const std::string path = above + name;
      if (value.is_object()) {
        add_unnamed(value, path + ".", out);
      } else if (!is_named(path)) {
        out.push_back(keys_.prefix + printable(path, 60));
      }
    }
  }

  // --- The layers ---

  // Item of a list, letter of a text.
  static std::optional<std::string_view> word_of(const Json& list, std::uint64_t layer,
                                                 bool is_repeated) {
    const std::size_t size = list.is_string()  ? list.get_ref<const std::string&>().size()
                             : list.is_array() ? list.size()
                                               : 0;
    auto index = static_cast<std::size_t>(layer);
    if (is_repeated && size > 0) index %= size;
    if (index >= size) return std::nullopt;
    if (list.is_string())
      return std::string_view(list.get_ref<const std::string&>()).substr(index, 1);
    return list[index].is_string()
               ? std::optional<std::string_view>(list[index].get_ref<const std::string&>())
               : std::nullopt;
  }

  Kind kind_by_type(const Json& types, std::uint64_t layer) const {
    const auto word = word_of(types, layer, architecture_.is_repeated);
    return word ? kind_of(*word) : Kind::kUnknown;
  }

  static bool is_in(const Json& list, std::uint64_t layer) {
    return std::find(list.begin(), list.end(), Json(layer)) != list.end();
  }

  // Which layers have attention; kAttention: the window's parts say what they see.
  Kind attention(std::uint64_t layer) {
    if (const auto types = value(Part::kTypes); types && types->json != nullptr) {
      if (const Kind kind = kind_by_type(*types->json, layer); kind == Kind::kNone) return kind;
    }
    // Of an architecture that is not known every other layer keeps the most.
    if (known_ == nullptr) return Kind::kFull;
    if (any(Part::kWithout, layer)) return Kind::kNone;
    if (layer >= number(Part::kFirstKeep).value_or(kMostLayers)) return Kind::kShared;
    if (const auto last = number(Part::kLastShare).value_or(0); layer + last >= out_.layers) {
      return Kind::kShared;
    }
    const auto past_half = number(Part::kPastHalfKeep);
    if (past_half && layer >= out_.layers / 2 + *past_half) return Kind::kShared;
    if (const auto factor = number(Part::kShareFactor).value_or(1); factor > 1) {
      if (layer % factor != 0) return Kind::kShared;
    }
    if (const auto types = value(Part::kTypes); types && types->json != nullptr) {
      return kind_by_type(*types->json, layer);
    }
    if (value(Part::kKeeping)) {
      return number(Part::kKeeping, layer).value_or(1) != 0 ? Kind::kAttention : Kind::kNone;
    }
    if (const auto list = value(Part::kListed);
        list && list->json != nullptr && list->json->is_array()) {
      return is_in(*list->json, layer) ? Kind::kAttention : Kind::kNone;
    }
    if (const auto list = value(Part::kNumbered);
        list && list->json != nullptr && list->json->is_array()) {
      return is_in(*list->json, layer + 1) ? Kind::kAttention : Kind::kNone;
    }
    if (const auto every = number(Part::kEvery).value_or(0); every > 0) {
      const std::uint64_t offset = number(Part::kOffset).value_or(every - 1);
      return layer % every == offset % every ? Kind::kAttention : Kind::kNone;
    }
    return Kind::kAttention;
  }

  bool sees_window(std::uint64_t layer) {
    if (layer < number(Part::kWindowFrom).value_or(0)) return false;
    if (number(Part::kWindowToHalf) && layer >= out_.layers / 2) return false;
    const auto pattern = value(Part::kPattern);
    if (!pattern) return true;
    if (pattern->json != nullptr && pattern->json->is_string()) {
      return kind_of(word_of(*pattern->json, layer, true).value_or("")) == Kind::kWindowed;
    }
    const auto n = number(Part::kPattern, layer).value_or(0);
    if (pattern->json != nullptr && pattern->json->is_array()) return n != 0;
    if (n == 0) return true;
    return architecture_.is_dense_first ? layer % n != 0 : layer % n < n - 1;
  }

  Kind kind(std::uint64_t layer, std::uint64_t window) {
    const Kind kind = attention(layer);
    if (kind == Kind::kWindowed) return window > 0 ? Kind::kWindowed : Kind::kFull;
    if (kind != Kind::kAttention) return kind;
    return window > 0 && sees_window(layer) ? Kind::kWindowed : Kind::kFull;
  }

  std::optional<std::uint64_t> shared_size(std::uint64_t layer) {
    const auto hidden = number(Part::kHidden, layer);
    const auto heads = number(Part::kHeads, layer);
    if (!hidden || !heads || *heads == 0) return std::nullopt;
    return *hidden / *heads;
  }

  struct Size {
    double kept = 0;
    double whole = 0;  // without compression
  };
  // Numbers that one layer keeps for each token; none: something is missing.
  std::optional<Size> size(std::uint64_t layer, Kind kind) {
    const bool is_windowed = kind == Kind::kWindowed;
    const auto heads = number(Part::kHeads, layer);
    auto kept = is_windowed ? std::nullopt : number(Part::kFullKvHeads, layer);
    if (!kept) kept = number(Part::kKvHeads, layer);
    if (const auto group = number(Part::kHeadsPerKv, layer); group && heads && *group > 0) {
      kept = *heads / *group;
    }
    if (!kept) kept = heads;
    if (!kept) {
      missing(Part::kHeads);
      return std::nullopt;
    }
    if (*kept == 0) return Size{};
    const double count = static_cast<double>(*kept);
    const double beside = static_cast<double>(number(Part::kBeside, layer).value_or(0));
    const auto part = [&](Part name) {
      return static_cast<double>(number(name, layer).value_or(0));
    };
    const auto rank = number(Part::kLatentRank, layer);
    if (rank && (architecture_.is_latent || number(Part::kPlainSize, layer))) {
      const double expanded =
          static_cast<double>(heads.value_or(*kept)) *
          (part(Part::kPlainSize) + part(Part::kRopeSize) + part(Part::kExpandedValueSize));
      const double latent = static_cast<double>(*rank) + part(Part::kRopeSize);
      const double whole = std::max(expanded, latent) + beside;
      return Size{architecture_.is_latent ? latent + beside : whole, whole};
    }
    auto keys = number(is_windowed ? Part::kWindowedKeySize : Part::kFullKeySize, layer);
    if (!keys) keys = number(Part::kKeySize, layer);
    const auto shared = shared_size(layer);
    if (!keys || (known_ == nullptr && shared))
      keys = std::max(keys.value_or(0), shared.value_or(0));
    auto values = is_windowed ? number(Part::kWindowedValueSize, layer) : std::nullopt;
    if (!values) values = number(Part::kValueSize, layer);
    if (!values) values = !terms(Part::kValueSize).empty() && shared ? shared : keys;
    if (*keys == 0) {
      missing(number(Part::kHidden, layer) ? Part::kHeads : Part::kKeySize);
      return std::nullopt;
    }
    if (known_ != nullptr && number(Part::kLatentKeySize, layer).value_or(0) > 0) values = 0;
    const double numbers = count * static_cast<double>(*keys + *values) + beside;
    return Size{numbers, numbers};
  }

  void count(std::optional<std::uint64_t> layers) {
    if (!architecture_.no_keys.empty()) {
      out_.cache = shape_;
      if (architecture_.no_keys == "recurrent") return note_state();
      out_.notes.push_back(out_.name + " encodes and has no KV cache.");
      return;
    }
    if (!layers || *layers == 0) return missing(Part::kLayers);
    const std::uint64_t predicted = number(Part::kPredicted).value_or(0);
    for (std::uint64_t layer = 0; layer + predicted < *layers && !in_.error(); ++layer) {
      if (!add(layer)) return;
    }
    note_unknown();
    note_filled_in();
    out_.cache = shape_;
    if (stateful_ > 0) note_state();
  }

  bool add(std::uint64_t layer) {
    const std::uint64_t window = number(Part::kWindow, layer).value_or(0);
    const Kind kind = this->kind(layer, window);
    if (kind == Kind::kShared) return true;
    if (kind == Kind::kNone) {
      ++stateful_;
      return true;
    }
    const auto size = this->size(layer, kind);
    if (!size) return false;
    if (size->kept == 0) ++stateful_;
    if (kind == Kind::kUnknown) ++unknown_;
    std::uint64_t tokens = 0;
    if (kind == Kind::kWindowed && known_ != nullptr) {
      const std::uint64_t grain = keys_.all.window_grain;
      tokens = (window + keys_.all.window_extra + grain - 1) / grain * grain;
    }
    shape_.most[tokens] += size->kept;
    if (kind != Kind::kUnknown) shape_.least[tokens] += size->kept;
    shape_.whole += size->whole;
    return true;
  }

  void note_unknown() {
    std::vector<std::string> unnamed;
    add_unnamed(keys_.own, {}, unnamed);
    if (known_ == nullptr) {
      shape_.bounds.push_back(out_.architecture.empty() ? "the file does not name its architecture"
                                                        : "the architecture " + out_.architecture +
                                                              " is not known to jetmem");
    }
    if (!unnamed.empty()) {
      std::string names;
      for (std::size_t i = 0; i < unnamed.size() && i < 3; ++i) names += ", " + unnamed[i];
      if (unnamed.size() > 3) names += ", ...";
      shape_.bounds.push_back("what these keys change is not known: " + names.substr(2));
    }
    if (!shape_.bounds.empty()) shape_.least.clear();
    if (unknown_ > 0) {
      shape_.bounds.push_back("whether " + std::to_string(unknown_) + " of " +
                              std::to_string(out_.layers) + " layers keep keys is not known");
    }
  }

  void note_filled_in() {
    if (filled_in_.empty()) return;
    std::string keys;
    for (const std::string_view key : filled_in_) {
      keys += (keys.empty() ? "" : ", ") + std::string(key) + " " + defaults_[key].dump();
    }
    out_.notes.push_back("Not in " + std::string(keys_.source) +
                         ", so the library's defaults are counted: " + keys + ".");
  }

  void note_state() {
    out_.notes.push_back("The state of layers of " + out_.name +
                         " without attention is not counted: it does not grow with the context, "
                         "and its size depends on the runtime.");
  }

  const ModelKeys& keys_;
  ModelFile& out_;
  const Architecture* known_;
  const Architecture& architecture_;
  const Json defaults_;
  JsonTaker in_;
  CacheShape shape_;
  std::set<std::string_view> filled_in_;
  std::uint64_t unknown_ = 0;
  std::uint64_t stateful_ = 0;
};

}  // namespace

const Architecture* architecture_named(const Architectures& all, std::string_view name) {
  const auto found =
      std::find_if(all.known.begin(), all.known.end(), [&](const Architecture& each) {
        return std::find(each.names.begin(), each.names.end(), name) != each.names.end();
      });
  return found == all.known.end() ? nullptr : &*found;
}

Result<std::uint64_t> count_cache(const ModelKeys& keys, ModelFile& out) {
  return CacheCounter(keys, out).run();
}

}  // namespace jetmem::plan
