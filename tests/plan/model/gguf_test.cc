// SPDX-License-Identifier: Apache-2.0
#include "plan/model/gguf.h"

#include <gmock/gmock.h>

#include "tests/plan/model/bytes_of.h"
#include "tests/plan/model/gguf_bytes.h"

namespace jetmem::plan {
namespace {

using testing::HasSubstr;

ModelFile model_of(const GgufBytes& bytes, std::size_t data = 1 << 20) {
  const std::string text = bytes.bytes(data);
  const auto read = read_gguf(bytes_of(text));
  EXPECT_TRUE(read) << read.error().message;
  return read ? read->model : ModelFile();
}

std::string error_of(const std::string& text) {
  const auto read = read_gguf(bytes_of(text));
  EXPECT_FALSE(read);
  return read ? std::string() : read.error().message;
}

// 28 layers x 8 heads x (128 keys + 128 values), 3072 / 24 of both. More of the keys is held by the
// examples of plan/architectures/*.yaml.
TEST(Gguf, TheCacheIsKeysAndValuesOfEachLayer) {
  const ModelFile plain = model_of(GgufBytes().llama());
  EXPECT_EQ(plain.name, "Test 3B");
  EXPECT_EQ(plain.architecture, "llama");
  EXPECT_EQ(plain.layers, 28U);
  EXPECT_EQ(plain.trained_context, 131072U);
  ASSERT_TRUE(plain.cache);
  EXPECT_EQ(plain.cache->most_of(1), 28 * 8 * (128 + 128));
  EXPECT_EQ(plain.cache->least_of(1000), plain.cache->most_of(1000));
}

// A window keeps one batch of 512 tokens more, in multiples of 256.
TEST(Gguf, AWindow) {
  std::vector<std::uint64_t> pattern(28, 1);
  for (std::size_t i = 6; i < 28; i += 7) pattern[i] = 0;
  const ModelFile model =
      model_of(GgufBytes()
                   .llama("gemma3")
                   .u32("gemma3.attention.sliding_window", 1000)
                   .list("gemma3.attention.sliding_window_pattern", pattern, 7));
  const double layer = 8 * 256;
  EXPECT_EQ(model.cache->whole_of(8192), 28 * layer * 8192);
  EXPECT_EQ(model.cache->most_of(8192), layer * (4 * 8192 + 24 * 1536));
  EXPECT_EQ(model.cache->most_of(512), 28 * layer * 512);
}

TEST(Gguf, WhatIsNotKnownMakesAnUpperBound) {
  for (const auto& bytes : {GgufBytes().llama("novel"),
                            GgufBytes().llama("novel").u32("novel.attention.sliding_window", 16),
                            GgufBytes().llama("novel").u32("novel.ssm.state_size", 128),
                            GgufBytes().llama().u32("llama.attention.novel_layers", 2)}) {
    const ModelFile model = model_of(bytes);
    EXPECT_FALSE(model.cache->bounds.empty());
    EXPECT_EQ(model.cache->most_of(1000), 28 * 8 * 256 * 1000);
    EXPECT_EQ(model.cache->least_of(1000), 0);
  }
}

TEST(Gguf, ModelsWithoutACache) {
  const ModelFile encoder =
      model_of(GgufBytes().llama("nomic-bert").flag("nomic-bert.attention.causal", false));
  ASSERT_TRUE(encoder.cache);
  EXPECT_EQ(encoder.cache->most_of(1), 0);
  EXPECT_EQ(model_of(GgufBytes().string("general.architecture", "clip")).cache->most_of(1), 0);
  const ModelFile recurrent = model_of(GgufBytes(2)
                                           .string("general.architecture", "mamba")
                                           .u32("mamba.block_count", 64)
                                           .u32("mamba.attention.head_count", 0)
                                           .u32("mamba.ssm.state_size", 16));
  EXPECT_EQ(recurrent.format, "GGUF 2");
  ASSERT_TRUE(recurrent.cache);
  EXPECT_EQ(recurrent.cache->most_of(1), 0);
  EXPECT_EQ(recurrent.notes.size(), 1U);
}

TEST(Gguf, WhatTheHeaderLacksIsNamed) {
  const auto reason = [](const GgufBytes& bytes) {
    const ModelFile model = model_of(bytes);
    EXPECT_FALSE(model.cache);
    return model.no_cache_reason;
  };
  const auto llama = GgufBytes().string("general.architecture", "llama");
  EXPECT_THAT(reason(llama), HasSubstr("llama.block_count"));
  EXPECT_THAT(reason(GgufBytes(llama).u32("llama.block_count", 2)), HasSubstr("head_count"));
  reason(GgufBytes(llama).u32("llama.block_count", 1U << 31));
  reason(GgufBytes().llama().u32("llama.decoder_block_count", 2));
}

// Q4_K: 144 bytes of 256 numbers; Q6_K: 210; F32: 4 each.
TEST(Gguf, WeightsAreTheSumOfTheTensors) {
  const ModelFile model = model_of(GgufBytes()
                                       .llama()
                                       .tensor("token_embd.weight", {512, 1000}, 14)
                                       .tensor("output.weight", {512, 1000}, 14)
                                       .tensor("blk.0.attn_q.weight", {512, 512}, 12)
                                       .tensor("blk.0.attn_norm.weight", {512}, 0),
                                   2 << 20);
  const double table = 2.0 * 210 * 1000;
  EXPECT_EQ(model.weights, 2 * table + 2.0 * 144 * 512 + 512 * 4);
  EXPECT_EQ(model.weights_per_token, *model.weights - table) << "of the table one row";
  EXPECT_TRUE(model.notes.empty());
}

TEST(Gguf, ATokenReadsOnlySomeExperts) {
  const auto bytes = GgufBytes()
                         .llama("olmoe")
                         .u32("olmoe.expert_count", 64)
                         .tensor("blk.0.attn_q.weight", {256, 100}, 12)
                         .tensor("blk.0.ffn_up_exps.weight", {256, 10, 64}, 12);
  EXPECT_EQ(model_of(bytes).weights_per_token, std::nullopt) << "how many is not in the header";
  auto known = bytes;
  known.u32("olmoe.expert_used_count", 8);
  EXPECT_EQ(model_of(known).weights_per_token, 14400 + 1440 * 8);
}

TEST(Gguf, AFileThatIsCutOrOfAnUnknownTypeIsNoted) {
  const auto bytes = GgufBytes().llama().tensor("a", {512}, 0);
  EXPECT_TRUE(model_of(bytes, 512 * 4 + 64).notes.empty());
  EXPECT_EQ(model_of(bytes, 100).notes.size(), 1U);
  // Of an unknown type the rest of the file counts.
  const auto unknown = GgufBytes().llama().tensor("a", {64}, 99);
  const std::size_t head = unknown.bytes().size();
  const ModelFile model = model_of(unknown, (head + 31) / 32 * 32 - head + 5000);
  EXPECT_EQ(model.weights, 5000);
  EXPECT_EQ(model.notes.size(), 1U);
}

// Of a projector, another model or none: "llama.block_count" is the only one of a llama.
TEST(Gguf, KeysOfOtherArchitecturesAreNotItsOwn) {
  const ModelFile model = model_of(GgufBytes()
                                       .u32("other.block_count", 2)
                                       .list("other.attention.head_count_kv", {1, 1})
                                       .u32("llama.x.block_count", 3)
                                       .u32("block_count", 4)
                                       .llama()
                                       .u32("other.attention.sliding_window", 16));
  EXPECT_EQ(model.layers, 28U);
  ASSERT_TRUE(model.cache);
  EXPECT_EQ(model.cache->most_of(1), 28 * 8 * 256);
  EXPECT_EQ(model.cache->least_of(8192), model.cache->most_of(8192));
  const ModelFile late = model_of(GgufBytes()
                                      .u32("qwen2.5.block_count", 2)
                                      .u32("qwen2.5.attention.head_count", 4)
                                      .u32("qwen2.5.embedding_length", 64)
                                      .string("general.architecture", "qwen2.5"));
  ASSERT_TRUE(late.cache) << late.no_cache_reason;
  EXPECT_EQ(late.cache->most_of(1), 2 * 4 * (16 + 16));
  const ModelFile none = model_of(GgufBytes().u32("llama.block_count", 2));
  EXPECT_EQ(none.layers, 0U);
  EXPECT_THAT(none.no_cache_reason, HasSubstr("general.architecture"));
}

TEST(Gguf, AListShorterThanTheLayersIsRefused) {
  const auto with = [](std::size_t kv_heads, std::size_t pattern) {
    return GgufBytes()
        .string("general.architecture", "llama")
        .list("llama.attention.head_count_kv", std::vector<std::uint64_t>(kv_heads, 8))
        .list("llama.attention.sliding_window_pattern", std::vector<std::uint64_t>(pattern, 1), 7)
        .u32("llama.attention.head_count", 24)
        .u32("llama.embedding_length", 3072)
        .u32("llama.block_count", 28);
  };
  EXPECT_EQ(model_of(with(28, 28)).cache->most_of(1), 28 * 8 * 256);
  EXPECT_EQ(model_of(with(31, 28)).cache->most_of(1), 28 * 8 * 256)
      << "of layers that are not counted";
  // Behind the head, the architecture, and the key with its two types: the length of the list.
  const std::size_t at = 24 + (8 + 20 + 4 + 8 + 5) + (8 + 29 + 4 + 4);
  for (const std::size_t short_of : {1U, 10U, 27U}) {
    EXPECT_EQ(error_of(with(short_of, 28).bytes()),
              "byte " + std::to_string(at) +
                  ": expected llama.attention.head_count_kv for 28 layers, found " +
                  std::to_string(short_of));
  }
  EXPECT_THAT(error_of(with(28, 6).bytes()),
              HasSubstr("sliding_window_pattern for 28 layers, found 6"));
}

// Weights of 0 bytes would fit anywhere.
TEST(Gguf, WithoutTensorsTheWeightsAreUnknown) {
  for (const auto& bytes : {GgufBytes().llama(), GgufBytes().llama().tensor("a", {0}, 0)}) {
    const ModelFile model = model_of(bytes);
    EXPECT_EQ(model.weights, std::nullopt);
    EXPECT_EQ(model.weights_per_token, std::nullopt);
    EXPECT_FALSE(model.no_weights_reason.empty());
  }
  const ModelFile cut = model_of(GgufBytes().llama().tensor("a", {64}, 99), 0);
  EXPECT_EQ(cut.weights, std::nullopt);
  EXPECT_THAT(cut.no_weights_reason, HasSubstr("type"));
  EXPECT_TRUE(cut.notes.empty());
}

// Counts and lengths that no file has take neither time nor memory.
TEST(Gguf, ErrorsNameTheByteAndWhatWasExpected) {
  const auto head = [](std::uint64_t tensors, std::uint64_t keys) {
    return "GGUF" + GgufBytes::number(3, 4) + GgufBytes::number(tensors, 8) +
           GgufBytes::number(keys, 8);
  };
  std::string nested;
  for (int i = 0; i < 8; ++i) nested += GgufBytes::number(9, 4) + GgufBytes::number(1, 8);
  const std::uint64_t huge = 1ULL << 62;
  const std::pair<std::string, const char*> cases[] = {
      {"", "byte 0"},
      {"GGML\3\0\0\0", "expected 'GGUF'"},
      {GgufBytes(1).bytes(), "byte 4: expected version 2 or 3, found 1"},
      {GgufBytes(0x03000000).bytes(), "big-endian"},
      {GgufBytes().raw("a.b", 13, "").bytes(),
       "byte 35: expected a value's type from 0 to 12, found 13"},
      {GgufBytes().tensor("a", {1, 1, 1, 1, 1}, 0).bytes(), "dimensions"},
      {GgufBytes().tensor("a", {100}, 12).bytes(), "multiples of 256"},
      {GgufBytes()
           .string("general.architecture", "llama")
           .raw("llama.block_count", 5, "\xff\xff\xff\xff")
           .bytes(),
       "from 0"},
      {head(~0ULL, 0), "at most"},
      {head(0, ~0ULL), "at most"},
      {head(0, 1) + GgufBytes::number(~0ULL, 8), "a key"},
      {GgufBytes().raw("a", 9, nested).bytes(), "nested"},
      {GgufBytes().tensor("a", {huge, huge, huge, huge}, 0).bytes(), "10 TB"}};
  for (const auto& [text, error] : cases) EXPECT_THAT(error_of(text), HasSubstr(error));
  for (const std::uint32_t item : {0U, 4U, 8U, 9U, 12U}) {
    for (const std::uint64_t length : {~0ULL, 1ULL << 61}) {
      error_of(GgufBytes()
                   .raw("a", 9, GgufBytes::number(item, 4) + GgufBytes::number(length, 8))
                   .bytes(64));
    }
  }
}

TEST(Gguf, EveryCutIsAnErrorOfItsOwn) {
  const std::string whole =
      GgufBytes()
          .llama()
          .list("tokenizer.ggml.token_type", {1, 2, 3})
          .list("llama.attention.key_length", std::vector<std::uint64_t>(28, 9))
          .tensor("a", {32, 2}, 8)
          .bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto read = read_gguf(bytes_of(std::string_view(whole).substr(0, size)));
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().message.substr(0, 5), "byte ") << size;
  }
  EXPECT_TRUE(read_gguf(bytes_of(whole)));
}

}  // namespace
}  // namespace jetmem::plan
