// SPDX-License-Identifier: Apache-2.0
#include "plan/model/hugging_face.h"

#include <gmock/gmock.h>

#include <array>

#include "collectors/probe/json.h"
#include "plan/model/architecture.h"
#include "plan/model/gguf.h"
#include "tests/plan/model/bytes_of.h"
#include "tests/plan/model/gguf_bytes.h"

namespace jetmem::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ModelFile config(std::string_view text) {
  auto model = parse_hugging_face_config(text);
  EXPECT_TRUE(model) << model.error().message;
  return model ? *model : ModelFile();
}

TEST(HuggingFace, TheShapeOfAModel) {
  const ModelFile model = config(
      R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 3072,
          "num_hidden_layers": 28, "num_attention_heads": 24, "num_key_value_heads": 8,
          "head_dim": null, "max_position_embeddings": 131072, "torch_dtype": "bfloat16",
          "quantization_config": {"quant_method": "awq", "bits": 4}})");
  EXPECT_EQ(model.architecture, "llama");
  EXPECT_EQ(model.quantization, "awq");
  EXPECT_EQ(model.native_kv_type, "bf16");
  EXPECT_EQ(model.trained_context, 131072U);
  ASSERT_TRUE(model.cache);
  EXPECT_EQ(model.cache->most_of(10), 28 * 8 * 256 * 10);
  EXPECT_EQ(model.cache->least_of(10), model.cache->most_of(10));
  EXPECT_TRUE(model.cache->bounds.empty());
}

TEST(HuggingFace, TheLanguageModelOfAModelThatSees) {
  const ModelFile model = config(
      R"({"model_type": "gemma3", "vision_config": {"num_hidden_layers": 27},
          "text_config": {"num_hidden_layers": 34, "num_key_value_heads": 4, "head_dim": 256}})");
  EXPECT_EQ(model.layers, 34U);
  EXPECT_EQ(model.cache->whole_of(8192), 34.0 * 2 * 4 * 256 * 8192);
  EXPECT_EQ(config(R"({"thinker_config": {"text_config": {"num_hidden_layers": 3,
                       "num_attention_heads": 2, "hidden_size": 8}}})")
                .layers,
            3U);
  // 512 + 64 numbers for all heads, or 16 heads of 128 + 64 and 128.
  EXPECT_EQ(config(R"({"model_type": "deepseek_v2", "num_hidden_layers": 27, "hidden_size": 2048,
                       "num_attention_heads": 16, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
                       "qk_nope_head_dim": 128, "v_head_dim": 128})")
                .cache->whole_of(1),
            27 * 16 * (128 + 64 + 128));
}

// Whatever is not known can only make the cache smaller than it is counted.
TEST(HuggingFace, WhatIsNotKnownMakesAnUpperBound) {
  for (const std::string keys :
       {R"("model_type": "novel")", R"("sliding_window": 10)",
        R"("model_type": "novel", "use_cla": true, "cla_share_factor": 2)",
        R"("model_type": "llama", "sliding_window": 10)",
        R"("model_type": "llama", "novel_attention_layers": 2)",
        R"("model_type": "dbrx", "n_layers": 4, "n_heads": 2, "d_model": 16,
           "attn_config": {"novel_kv": 3, "kv_n_heads": 1}, "kv_n_heads": 5)"}) {
    const ModelFile model = config(
        R"({"num_hidden_layers": 4, "num_attention_heads": 2, "num_key_value_heads": 1,
            "head_dim": 8, "hidden_size": 16, )" +
        keys + "}");
    EXPECT_FALSE(model.cache->bounds.empty()) << keys;
    EXPECT_EQ(model.cache->least_of(100), 0) << keys;
    EXPECT_EQ(model.cache->most_of(100), 4 * 16 * 100) << keys;
  }
  // Neither are an unknown key that is switched off, nor one that has nothing to do with it.
  const ModelFile known = config(
      R"({"model_type": "llama", "num_hidden_layers": 4, "novel_attention": false,
          "novel_window": null, "attention_dropout": 0.5, "torch_dtype": "float16"})");
  EXPECT_TRUE(known.cache->bounds.empty());
}

TEST(HuggingFace, LayersWhoseTypeIsNotKnown) {
  const ModelFile model = config(
      R"({"model_type": "llama", "num_hidden_layers": 3, "num_attention_heads": 2, "head_dim": 8,
          "layer_types": ["full_attention", "novel_attention"]})");
  EXPECT_EQ(model.cache->most_of(1), 3 * 32);
  EXPECT_EQ(model.cache->least_of(1), 32);
  EXPECT_FALSE(model.cache->bounds.empty());
}

TEST(HuggingFace, AListShorterThanTheLayersIsRefused) {
  const auto read = parse_hugging_face_config(
      R"({"num_hidden_layers": 4, "num_attention_heads": 32, "head_dim": 8,
          "num_key_value_heads": [8, 8]})");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("num_key_value_heads[2]"));
}

TEST(HuggingFace, WhatIsFilledInIsNamed) {
  const ModelFile model = config(
      R"({"model_type": "mistral", "num_hidden_layers": 2, "hidden_size": 64, "head_dim": 16,
          "sliding_window": null, "num_key_value_heads": 1})");
  EXPECT_EQ(model.cache->most_of(10), 2 * 32 * 10);
  EXPECT_THAT(model.notes, ElementsAre(AllOf(HasSubstr("num_attention_heads 32"),
                                             Not(HasSubstr("sliding_window")))));
}

TEST(HuggingFace, WhatIsMissingIsNamed) {
  for (const auto& [text, name] :
       {std::pair("{}", "num_hidden_layers"),
        std::pair(R"({"num_hidden_layers": 2})", "num_attention_heads"),
        std::pair(R"({"num_hidden_layers": 2, "num_attention_heads": 2})", "head_dim"),
        std::pair(R"({"is_encoder_decoder": true, "num_hidden_layers": 2})", "encoder")}) {
    const ModelFile model = config(text);
    EXPECT_FALSE(model.cache);
    EXPECT_THAT(model.no_cache_reason, HasSubstr(name));
  }
  const ModelFile encoder = config(
      R"({"architectures": ["NovelModel"], "num_hidden_layers": 2, "num_attention_heads": 2,
          "hidden_size": 8})");
  EXPECT_EQ(encoder.cache->least_of(1), 0);
  EXPECT_GT(encoder.cache->most_of(1), 0);
}

TEST(HuggingFace, MistakesAreErrors) {
  for (const char* text :
       {"", "[]", "{", R"({"num_hidden_layers": "two"})", R"({"num_hidden_layers": 5000})",
        R"({"num_hidden_layers": -1})",
        R"({"num_hidden_layers": 1, "num_attention_heads": 1, "head_dim": 1e99})"}) {
    const auto model = parse_hugging_face_config(text);
    ASSERT_FALSE(model) << text;
    EXPECT_FALSE(model.error().message.empty());
  }
  EXPECT_FALSE(parse_hugging_face_config(std::string(1000, '[')));
}

TEST(HuggingFace, TheIndexOfTheWeights) {
  const auto index = parse_weight_index(
      R"({"metadata": {"total_size": 6425499648}, "weight_map": {"a": "m-1.safetensors",
          "b": "m-2.safetensors", "c": "m-1.safetensors"}})");
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(index->total_bytes, 6425499648.0);
  EXPECT_EQ(parse_weight_index(R"({"metadata": {}, "weight_map": {}})")->total_bytes, std::nullopt);
  EXPECT_EQ(index->files, (std::vector<std::string>{"m-1.safetensors", "m-2.safetensors"}));
  for (const char* text :
       {"[]", R"({"metadata": {"total_size": -1}})", R"({"metadata": {"total_size": 1e30}})",
        R"({"metadata": {"total_size": 1}, "weight_map": {"a": "../etc/passwd"}})",
        R"({"metadata": {"total_size": 1}, "weight_map": {"a": 3}})"}) {
    EXPECT_FALSE(parse_weight_index(text)) << text;
  }
}

TEST(HuggingFace, SafetensorsSayTheirSize) {
  const auto file = [](std::string_view json, std::size_t data) {
    return GgufBytes::number(json.size(), 8) + std::string(json) + std::string(data, '\0');
  };
  constexpr std::string_view kHeader =
      R"({"__metadata__": {"format": "pt"}, "a": {"dtype": "F16", "shape": [2, 3],
          "data_offsets": [0, 12]}, "b": {"dtype": "F32", "shape": [1], "data_offsets": [12, 16]}})";
  const std::string whole = file(kHeader, 16);
  EXPECT_EQ(read_safetensors(bytes_of(whole)), 16);
  const auto cut = read_safetensors(bytes_of(std::string_view(whole).substr(0, whole.size() - 1)));
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message, HasSubstr("not complete"));
  for (const std::string& text :
       {std::string("abc"), GgufBytes::number(~0ULL, 8), file("[]", 0),
        file(R"({"a": {"data_offsets": [1]}})", 9),
        file(R"({"a": {"data_offsets": [1, 2, 3]}})", 9), file(R"({"a": 1})", 9),
        GgufBytes::number(16U << 20, 8) + std::string(17U << 20, ' ')}) {
    EXPECT_FALSE(read_safetensors(bytes_of(text))) << text.substr(0, 60);
  }
}

// Each architecture's examples, which stand beside it in plan/architectures/*.yaml.
struct Example {
  std::string_view form;
  std::string_view architecture;
  std::string_view keys;
  std::uint64_t context;
  double numbers;
};
constexpr std::array kExamples{
#include "architecture_examples.inc"
};

ModelFile read_example(const Example& example) {
  Json keys = Json::parse(example.keys);
  if (example.form == "hugging_face") {
    keys["model_type"] = example.architecture;
    return config(keys.dump());
  }
  GgufBytes bytes;
  bytes.string("general.architecture", example.architecture);
  for (const auto& [name, value] : keys.items()) {
    const std::string key = std::string(example.architecture) + "." + name;
    if (value.is_array()) {
      std::vector<std::uint64_t> items;
      for (const Json& item : value)
        items.push_back(item.is_boolean() ? item == true : item.get<std::uint64_t>());
      bytes.list(key, items, value[0].is_boolean() ? 7 : 4);
    } else {
      bytes.u32(key, value.get<std::uint64_t>());
    }
  }
  const std::string text = bytes.bytes();
  auto model = read_gguf(bytes_of(text));
  EXPECT_TRUE(model) << model.error().message;
  return model ? model->model : ModelFile();
}

TEST(Architectures, EachExampleIsExact) {
  for (const Example& example : kExamples) {
    const ModelFile model = read_example(example);
    ASSERT_TRUE(model.cache) << example.architecture << ": " << model.no_cache_reason;
    EXPECT_EQ(model.cache->most_of(example.context), example.numbers)
        << example.architecture << " " << example.keys;
    EXPECT_EQ(model.cache->least_of(example.context), example.numbers) << example.architecture;
    EXPECT_TRUE(model.cache->bounds.empty())
        << example.architecture << ": " << model.cache->bounds.front();
  }
}

// What is not known counts all keys that any architecture has.
TEST(Architectures, TheUnknownOneHasTheKeysOfAll) {
  for (const Architectures* all : {&hugging_face_architectures(), &gguf_architectures()}) {
    EXPECT_EQ(architecture_named(*all, "novel"), nullptr);
    EXPECT_TRUE(all->unknown.names.empty());
    EXPECT_FALSE(all->unknown.parts[static_cast<std::size_t>(Part::kWindow)].empty());
  }
}

}  // namespace
}  // namespace jetmem::plan
