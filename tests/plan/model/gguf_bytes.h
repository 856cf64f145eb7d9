// SPDX-License-Identifier: Apache-2.0
// Writes the header of a GGUF file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace jetmem::plan {

class GgufBytes {
 public:
  explicit GgufBytes(std::uint32_t version = 3) : version_(version) {}

  static std::string number(std::uint64_t value, std::size_t width) {
    std::string out;
    for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
    return out;
  }
  static std::string text(std::string_view text) {
    return number(text.size(), 8) + std::string(text);
  }

  GgufBytes& raw(std::string_view key, std::uint32_t type, std::string_view value) {
    keys_ += text(key) + number(type, 4) + std::string(value);
    ++key_count_;
    return *this;
  }
  GgufBytes& u32(std::string_view key, std::uint64_t value) {
    return raw(key, 4, number(value, 4));
  }
  GgufBytes& flag(std::string_view key, bool value) {
    return raw(key, 7, number(value ? 1 : 0, 1));
  }
  GgufBytes& string(std::string_view key, std::string_view value) {
    return raw(key, 8, text(value));
  }
  // Of u32 (type 4), or of flags (type 7).
  GgufBytes& list(std::string_view key, const std::vector<std::uint64_t>& values,
                  std::uint32_t type = 4) {
    std::string out = number(type, 4) + number(values.size(), 8);
    for (const std::uint64_t value : values) out += number(value, type == 7 ? 1 : 4);
    return raw(key, 9, out);
  }
  GgufBytes& tensor(std::string_view name, const std::vector<std::uint64_t>& dimensions,
                    std::uint32_t type) {
    tensors_ += text(name) + number(dimensions.size(), 4);
    for (const std::uint64_t length : dimensions) tensors_ += number(length, 8);
    tensors_ += number(type, 4) + number(0, 8);
    ++tensor_count_;
    return *this;
  }
  // 28 layers of 8 key-value heads of 128 numbers, 131072 tokens.
  GgufBytes& llama(std::string_view architecture = "llama") {
    const std::string at = std::string(architecture) + ".";
    return string("general.architecture", architecture)
        .string("general.name", "Test 3B")
        .u32(at + "block_count", 28)
        .u32(at + "context_length", 131072)
        .u32(at + "embedding_length", 3072)
        .u32(at + "attention.head_count", 24)
        .u32(at + "attention.head_count_kv", 8);
  }

  // `data`: zeros behind the header, which stand for the tensors.
  std::string bytes(std::size_t data = 0) const {
    return "GGUF" + number(version_, 4) + number(tensor_count_, 8) + number(key_count_, 8) + keys_ +
           tensors_ + std::string(data, '\0');
  }

 private:
  std::uint32_t version_;
  std::uint64_t key_count_ = 0;
  std::uint64_t tensor_count_ = 0;
  std::string keys_;
  std::string tensors_;
};

}  // namespace jetmem::plan
