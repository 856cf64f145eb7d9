// SPDX-License-Identifier: Apache-2.0
// Each architecture's examples, which stand beside it in plan/architectures/*.yaml.
#include <gtest/gtest.h>

#include <array>

#include "collectors/probe/json.h"
#include "plan/model/architecture.h"
#include "plan/model/gguf.h"
#include "plan/model/hugging_face.h"
#include "tests/plan/model/bytes_of.h"
#include "tests/plan/model/gguf_bytes.h"

namespace jetmem::plan {
namespace {

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

ModelFile read(const Example& example) {
  Json keys = Json::parse(example.keys);
  if (example.form == "hugging_face") {
    keys["model_type"] = example.architecture;
    auto model = parse_hugging_face_config(keys.dump());
    EXPECT_TRUE(model) << model.error().message;
    return model ? *model : ModelFile();
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
    const ModelFile model = read(example);
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
