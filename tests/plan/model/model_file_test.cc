// SPDX-License-Identifier: Apache-2.0
#include "plan/model/model_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "plan/budget.h"
#include "plan/model/ollama.h"
#include "tests/plan/model/gguf_bytes.h"
#include "tests/temp_dir.h"

namespace jetmem::plan {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ModelFileTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    return folder_.write(name, text);
  }
  ModelFile read(const std::string& given) {
    auto model = read_model_file(given, {folder_.path()});
    EXPECT_TRUE(model) << model.error().message;
    return model ? *model : ModelFile();
  }
  std::string error(const std::string& given) {
    const auto model = read_model_file(given, {folder_.path()});
    EXPECT_FALSE(model);
    return model ? std::string() : model.error().message;
  }
  // Without tensors.
  static GgufBytes part(std::uint64_t number, std::uint64_t count) {
    GgufBytes bytes;
    if (number == 0) bytes.llama();
    return bytes.u32("split.no", number).u32("split.count", count);
  }

  TempDir folder_;
};

TEST_F(ModelFileTest, AModelInParts) {
  const auto of_three = [](std::uint64_t number) {
    return part(number, 3).tensor("t" + std::to_string(number), {1000}, 0).bytes(4096);
  };
  const std::string first = write("m-00001-of-00003.gguf", of_three(0));
  write("m-00002-of-00003.gguf", of_three(1));
  EXPECT_THAT(error(first), HasSubstr("m-00003-of-00003.gguf"));
  const std::string last = write("m-00003-of-00003.gguf", of_three(2));
  EXPECT_EQ(read(first).weights, 3 * 4000);
  EXPECT_THAT(error(last), HasSubstr("first part"));
  EXPECT_THAT(error(write("odd.gguf", of_three(0))), HasSubstr("-00001-of-"));
}

// What a token reads is the same, however the tensors and keys are spread.
TEST_F(ModelFileTest, ATokenReadsAsMuchOfPartsAsOfOneFile) {
  const auto head = [] {
    return GgufBytes()
        .llama("olmoe")
        .u32("olmoe.expert_count", 64)
        .u32("olmoe.expert_used_count", 8);
  };
  const auto add = [](GgufBytes bytes, int tensor) {
    if (tensor == 0) bytes.tensor("token_embd.weight", {256, 100}, 12);
    if (tensor == 1) bytes.tensor("blk.0.ffn_up_exps.weight", {256, 10, 64}, 12);
    if (tensor == 2) bytes.tensor("output.weight", {256, 100}, 12);
    return bytes;
  };
  const std::size_t data = 1 << 20;
  const ModelFile whole = read(write("m.gguf", add(add(add(head(), 0), 1), 2).bytes(data)));
  ASSERT_EQ(whole.weights_per_token, 14400 + 1440 * 8);
  // In parts of one tensor each, the first has none, as splitting can leave it.
  for (const bool reversed : {false, true}) {
    std::string first;
    for (int part = 0; part < 4; ++part) {
      GgufBytes bytes = part == 0 ? head() : GgufBytes();
      bytes.u32("split.no", static_cast<std::uint64_t>(part)).u32("split.count", 4);
      if (part > 0) bytes = add(std::move(bytes), reversed ? 3 - part : part - 1);
      const std::string path =
          write("p-0000" + std::to_string(part + 1) + "-of-00004.gguf", bytes.bytes(data));
      if (part == 0) first = path;
    }
    const ModelFile parts = read(first);
    EXPECT_EQ(parts.weights, whole.weights) << reversed;
    EXPECT_EQ(parts.weights_per_token, whole.weights_per_token) << reversed;
  }
}

TEST_F(ModelFileTest, PartsWithoutTensorsHaveNoKnownWeights) {
  const std::string first = write("m-00001-of-00002.gguf", part(0, 2).bytes());
  write("m-00002-of-00002.gguf", part(1, 2).bytes());
  const ModelFile model = read(first);
  EXPECT_EQ(model.weights, std::nullopt);
  EXPECT_FALSE(model.no_weights_reason.empty());
  // One whose size is not known makes the sum unknown.
  write("m-00002-of-00002.gguf", part(1, 2).tensor("a", {1000}, 0).bytes(4096));
  EXPECT_EQ(read(first).weights, 4000);
  write("m-00001-of-00002.gguf", part(0, 2).tensor("b", {64}, 99).bytes());
  EXPECT_EQ(read(first).weights, std::nullopt);
}

TEST_F(ModelFileTest, AFolderOfHuggingFace) {
  const std::string config = write(
      "hub/my-model/config.json",
      R"({"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 8, "dtype": "float32"})");
  const std::string folder = fs::path(config).parent_path().string();
  EXPECT_EQ(read(folder).weights, std::nullopt) << "none beside it";
  const std::string empty = write("hub/my-model/model.safetensors", GgufBytes::text("{}"));
  EXPECT_EQ(read(folder).weights, std::nullopt) << "no tensor in it";
  EXPECT_FALSE(read(folder).no_weights_reason.empty());
  fs::remove(empty);
  const std::string header = R"({"a": {"data_offsets": [0, 100]}})";
  const std::string tensors = GgufBytes::number(header.size(), 8) + header + std::string(100, '\0');
  write("hub/my-model/model-00001-of-00002.safetensors", tensors);
  write("hub/my-model/model-00002-of-00002.safetensors", tensors);
  const ModelFile model = read(folder);
  EXPECT_EQ(model.name, "my-model");
  EXPECT_EQ(model.weights, 200);
  EXPECT_EQ(read(config).weights, 200);
  write("hub/my-model/model.safetensors.index.json",
        R"({"metadata": {"total_size": 300}, "weight_map": {"a": "model-00001-of-00002.safetensors",
            "b": "model-00003-of-00003.safetensors"}})");
  EXPECT_EQ(read(folder).weights, 300);
  EXPECT_EQ(read(folder).notes.size(), 1U) << "one file is not there";
  write("hub/my-model/model.safetensors.index.json",
        R"({"metadata": {}, "weight_map": {"a": "model-00001-of-00002.safetensors",
            "b": "model-00002-of-00002.safetensors"}})");
  EXPECT_EQ(read(folder).weights, 200) << "of the files' own headers";
}

TEST_F(ModelFileTest, AModelOfOllama) {
  const std::string model_hex(64, 'a');
  const std::string params_hex(64, 'b');
  std::string layers;
  for (const auto& [kind, digest, size] : {std::tuple("model", "sha256:" + model_hex, 5000),
                                           {"projector", "sha256:" + std::string(64, 'c'), 700},
                                           {"license", std::string("x"), 7},
                                           {"params", "sha256:" + params_hex, 20}}) {
    layers += (layers.empty() ? "" : ", ") +
              (R"({"mediaType": "application/vnd.ollama.image.)" + std::string(kind)) +
              R"(", "digest": ")" + digest + R"(", "size": )" + std::to_string(size) + "}";
  }
  const std::string manifest = R"({"schemaVersion": 2, "layers": [)" + layers + "]}";
  const std::string path = write("manifests/registry.ollama.ai/library/llama3.2/latest", manifest);
  write("manifests/hf.co/owner/model/Q4_K_M", manifest);
  write("blobs/sha256-" + params_hex, R"({"num_ctx": 8192, "stop": ["<|im_end|>"]})");
  EXPECT_THAT(error("llama3.2"), HasSubstr("sha256-" + model_hex));
  write("blobs/sha256-" + model_hex, GgufBytes().llama().tensor("a", {1000}, 0).bytes(4096));
  for (const std::string& given :
       {std::string("llama3.2"), std::string("llama3.2:latest"), std::string("library/llama3.2"),
        path, std::string("hf.co/owner/model:Q4_K_M")}) {
    const ModelFile model = read(given);
    EXPECT_EQ(model.format, "Ollama, GGUF 3") << given;
    EXPECT_EQ(model.weights, 4000 + 700) << given;
    EXPECT_EQ(model.context, 8192U) << given;
  }
  EXPECT_EQ(read("llama3.2").name, "llama3.2:latest");
  EXPECT_THAT(error("llama3.2:3b"), HasSubstr("neither"));
}

TEST(Ollama, NamesAreNoPaths) {
  EXPECT_EQ(ollama_manifest_path("m"), "manifests/registry.ollama.ai/library/m/latest");
  EXPECT_EQ(ollama_manifest_path("me/m:1b"), "manifests/registry.ollama.ai/me/m/1b");
  for (const char* name : {"", ".", "..", "../m", "m:../x", "a/b/c/d", "m:", "a//b", "/etc/passwd",
                           "m\n", "..:latest"}) {
    EXPECT_EQ(ollama_manifest_path(name), "") << name;
  }
}

TEST(Ollama, DigestsAreNoPaths) {
  for (const char* digest : {"sha256:../../etc/passwd", "sha256:", "md5:aa", ""}) {
    EXPECT_FALSE(parse_ollama_manifest(
        R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "size": 1, "digest": ")" +
        std::string(digest) + "\"}]}"))
        << digest;
  }
  EXPECT_FALSE(parse_ollama_manifest(R"({"layers": []})"));
  EXPECT_FALSE(parse_ollama_manifest("[]"));
}

// ir_version; graph: two initializers, 2 x 3 floats with their data and 200 packed int8.
TEST_F(ModelFileTest, AnOnnxFile) {
  const std::string first =
      std::string("\x08\x02\x08\x03\x10\x01\x4a\x18", 8) + std::string(24, 'x');
  const std::string second("\x0a\x02\xc8\x01\x10\x03", 6);
  const auto field = [](char tag, const std::string& text) {
    return std::string(1, tag) + static_cast<char>(text.size()) + text;
  };
  const std::string whole =
      std::string("\x08\x08", 2) + field('\x3a', field('\x2a', first) + field('\x2a', second));
  const ModelFile model = read(write("m.onnx", whole));
  EXPECT_EQ(model.weights, 2 * 3 * 4 + 200);
  EXPECT_FALSE(model.is_language);
  EXPECT_FALSE(model.is_at_least);
  EXPECT_EQ(read(write("unnamed", whole)).weights, 224);
  for (std::size_t size = 3; size < whole.size(); ++size) {
    EXPECT_THAT(error(write("cut.onnx", whole.substr(0, size))), HasSubstr("byte "));
  }
  EXPECT_EQ(read(write("none.onnx", std::string("\x3a\x00", 2))).weights, std::nullopt);
}

TEST_F(ModelFileTest, AnEngineOfTensorRt) {
  for (const auto& [name, text] : {std::pair("a.engine", "novel"), std::pair("b", "ptrt.")}) {
    const ModelFile model = read(write(name, text));
    EXPECT_EQ(model.weights, 5);
    EXPECT_TRUE(model.is_at_least);
    Plan plan;
    plan.reserve = 0;
    plan.language_models.push_back(language_model_of(model, {std::nullopt, nullptr, 1}));
    DeviceMemory device;
    device.linux_bytes = 100;
    const Budget budget = make_budget(plan, device);
    EXPECT_EQ(budget.memory, Fit::kUnknown) << "it may take more";
    ASSERT_EQ(budget.items.size(), 2U) << "weights and what is not known";
    EXPECT_EQ(budget.items[0].bound, "lower");
    device.linux_bytes = 4;
    EXPECT_EQ(make_budget(plan, device).memory, Fit::kDoesNotFit);
  }
}

TEST_F(ModelFileTest, WhatIsNoModel) {
  fs::create_directories(folder_.file("empty-folder"));
  const std::string fifo = folder_.file("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const auto& [path, part] : {std::pair(write("a.txt", "hello"), "byte 0"),
                                   {write("empty", ""), "byte 0"},
                                   {"/nonexistent/m.gguf", "neither"},
                                   {folder_.file("empty-folder"), "config.json"},
                                   {fifo, "regular"}}) {
    EXPECT_THAT(error(path), HasSubstr(part));
  }
}

// Of one gigabyte.
ModelFile file_with(CacheShape cache) {
  ModelFile out;
  out.name = "m";
  out.weights = 1e9;
  out.layers = 1;
  out.cache = std::move(cache);
  return out;
}

// Llama 3.2 3B at 8192 tokens: 28 x 8 x 256 numbers a token.
TEST(ModelUse, TheCacheByContextAndType) {
  ModelFile file = file_with({{{0, 57344}}, {{0, 57344}}, 57344, {}});
  file.trained_context = 131072;
  const auto cache = [&](std::optional<std::uint64_t> context, const char* type,
                         std::uint64_t sequences = 1) {
    return *language_model_of(file, {context, kv_type_named(type), sequences}).cache;
  };
  EXPECT_EQ(cache(8192, "f16"), 57344.0 * 8192 * 2);
  EXPECT_EQ(cache(8192, "q8_0"), 57344.0 * 8192 * 34 / 32);
  EXPECT_EQ(cache(8192, "q4_0", 3), 57344.0 * 8192 * 18 / 32 * 3);
  EXPECT_EQ(cache(std::nullopt, "f16"), 57344.0 * 131072 * 2);
  file.context = 4096;
  EXPECT_EQ(cache(std::nullopt, "f16"), 57344.0 * 4096 * 2) << "the model's own setting";
  EXPECT_EQ(kv_type_named("q3"), nullptr);
}

Budget budget_of(const ModelFile& file, double linux_bytes, std::uint64_t context) {
  Plan plan;
  plan.reserve = 0;
  plan.language_models.push_back(language_model_of(file, {context, nullptr, 1}));
  DeviceMemory device;
  device.linux_bytes = linux_bytes;
  device.peak_bytes_per_second = 100e9;
  return make_budget(plan, device);
}

TEST(ModelUse, TheBudgetSaysWhatIsNotKnown) {
  ModelFile file = file_with({{{0, 1000}}, {{0, 1000}}, 1000, {}});
  file.weights_per_token = 1e9;
  const Budget fits = budget_of(file, 8e9, 1000);
  EXPECT_EQ(fits.memory, Fit::kFits);
  EXPECT_EQ(fits.bytes, 1e9 + 2e6);
  ASSERT_EQ(fits.items.size(), 3U);
  EXPECT_EQ(fits.items[0].bytes, 1e9);
  EXPECT_EQ(fits.items[1].bytes, 2e6);
  EXPECT_EQ(fits.items[2].bytes, std::nullopt) << "compute buffers";
  ASSERT_EQ(fits.token_limits.size(), 1U);

  file.weights_per_token.reset();
  EXPECT_TRUE(budget_of(file, 8e9, 1000).token_limits.empty()) << "which experts is not known";

  file.cache.reset();
  file.no_cache_reason = "x is missing";
  EXPECT_EQ(budget_of(file, 8e9, 1000).memory, Fit::kUnknown);
  EXPECT_EQ(budget_of(file, 0.5e9, 1000).memory, Fit::kDoesNotFit) << "the weights alone do not";
  file.weights.reset();
  EXPECT_EQ(budget_of(file, 8e9, 1000).items[0].bytes, std::nullopt);
  file.cache = CacheShape{{{0, 1000}}, {{0, 1000}}, 1000, {}};
  file.no_weights_reason = "there are none";
  const Budget weightless = budget_of(file, 8e9, 1000);
  EXPECT_EQ(weightless.memory, Fit::kUnknown);
  EXPECT_THAT(weightless.items[0].how, HasSubstr("there are none"));
}

TEST(ModelUse, AnUpperBoundIsNoVerdict) {
  const ModelFile file =
      file_with({{{0, 1e6}}, {{100, 1e6}}, 1e6, {"layers may look back at most 100 tokens"}});
  const Budget between = budget_of(file, 2e9, 1000);
  EXPECT_EQ(between.bytes, 1e9 + 2e9);
  EXPECT_EQ(between.least_bytes, 1e9 + 2e8);
  EXPECT_EQ(between.memory, Fit::kUnknown);
  EXPECT_EQ(between.items[1].bound, "upper");
  EXPECT_EQ(budget_of(file, 1.1e9, 1000).memory, Fit::kDoesNotFit);
  EXPECT_EQ(budget_of(file, 8e9, 1000).memory, Fit::kFits);
  EXPECT_EQ(budget_of(file, 1.5e9, 100).memory, Fit::kFits) << "no longer than the window";
}

}  // namespace
}  // namespace jetmem::plan
