// SPDX-License-Identifier: Apache-2.0
// What jetmem knows about model architectures: which keys of a config.json, or of a GGUF header,
// give what a layer keeps for each token. The tables are generated from
// plan/architectures/*.yaml, which also explain each part.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace jetmem::plan {

enum class Part : std::uint8_t {
#include "parts.inc"  // kLayers, ...: PARTS of plan/generate.py
  kCount,
};

// "WHEN=IS ? KEY", or a number instead of a key. Applies where WHEN is there and is IS (true or not
// 0, if IS is empty) and KEY is there.
struct Term {
  std::string_view key;  // empty: `number`
  std::uint64_t number;
  std::string_view when;
  std::string_view is;
};

struct Architecture {
  std::span<const std::string_view> names;
  // The first term that applies gives the value.
  std::array<std::span<const Term>, static_cast<std::size_t>(Part::kCount)> parts;
  std::span<const std::string_view> also;  // keys that do not change the cache
  std::string_view defaults;               // of the library, as JSON: {"KEY": value}
  std::string_view no_keys;                // why it has no cache: "encodes", "recurrent"
  bool is_latent;       // runtimes keep latent attention compressed, without values
  bool is_repeated;     // its list of types is, until all layers have one
  bool is_dense_first;  // of each group of a pattern the first layer sees all of the context
};

// The architectures that one form of file can name.
struct Architectures {
  std::span<const Architecture> known;
  const Architecture& unknown;  // every key that is known of any
  // A key that contains one of these words may change the cache, unless it contains a harmless one.
  std::span<const std::string_view> telling;
  std::span<const std::string_view> harmless;
  // A window holds this many tokens more, in multiples of `window_grain`.
  std::uint64_t window_extra;
  std::uint64_t window_grain;
};
const Architectures& hugging_face_architectures();
const Architectures& gguf_architectures();

// Null: not known.
const Architecture* architecture_named(const Architectures& all, std::string_view name);

}  // namespace jetmem::plan
