// SPDX-License-Identifier: Apache-2.0
// A plan's file: maps with closed sets of keys, every error with its place.

#include <array>
#include <cmath>
#include <utility>

#include "base/text/text.h"
#include "config/number.h"
#include "config/yaml_document.h"
#include "config/yaml_fields.h"
#include "plan/plan.h"

namespace jetmem::plan {
namespace {

using NodeKind = YamlNode::Kind;

constexpr std::size_t kMostItems = 64;
constexpr double kMostBytes = 1e13;

class PlanReader {
 public:
  PlanReader(const std::string& file, ReadPlan& out)
      : out_(out), errors_(file, out.errors), fields_(errors_) {}

  void read(const YamlNode& root) {
    constexpr std::array<std::string_view, 12> kKeys{
        "device",  "cameras",        "models",       "language_models", "services",    "copies",
        "reserve", "cuda_processes", "cuda_context", "bandwidth_share", "description", "on_top"};
    const YamlMap map(errors_, root, "", kKeys, "a plan");
    if (!map.is_map()) return;
    Plan& plan = out_.plan;
    if (const YamlNode* node = map.get("device")) {
      plan.device = fields_.word(*node, "device").value_or("");
    }
    each(map, "cameras", [&](const YamlNode& node, const std::string& key) { camera(node, key); });
    each(map, "models", [&](const YamlNode& node, const std::string& key) { model(node, key); });
    each(map, "language_models",
         [&](const YamlNode& node, const std::string& key) { language_model(node, key); });
    each(map, "services", [&](const YamlNode& node, const std::string& key) {
      constexpr std::array<std::string_view, 2> kNames{"name", "memory"};
      const YamlMap one(errors_, node, key, kNames, "a service");
      Service service;
      service.name = name(one, node, key);
      service.memory = bytes(one, node, key, "memory", std::nullopt);
      plan.services.push_back(std::move(service));
    });
    each(map, "copies", [&](const YamlNode& node, const std::string& key) {
      constexpr std::array<std::string_view, 3> kNames{"name", "bytes", "rate"};
      const YamlMap one(errors_, node, key, kNames, "a copy");
      Copy copy;
      copy.name = name(one, node, key);
      copy.bytes = bytes(one, node, key, "bytes", std::nullopt);
      copy.rate = number(one, node, key, "rate", std::nullopt);
      plan.copies.push_back(std::move(copy));
    });
    plan.on_top = yes_or_no(map, "", "on_top").value_or(false);
    plan.reserve = bytes(map, root, "", "reserve", plan.reserve);
    if (map.get("cuda_processes") != nullptr) {
      plan.cuda_processes = whole(map, root, "", "cuda_processes", 0);
    }
    plan.has_cuda_context = map.get("cuda_context") != nullptr;
    plan.cuda_context = bytes(map, root, "", "cuda_context", plan.cuda_context);
    plan.bandwidth_share = number(map, root, "", "bandwidth_share", plan.bandwidth_share);
    if (plan.bandwidth_share <= 0 || plan.bandwidth_share > 1) {
      errors_.add(map.get("bandwidth_share")->at, "bandwidth_share",
                  "bandwidth_share must be above 0% and at most 100%");
    }
  }

 private:
  template <class Read>
  void each(const YamlMap& map, const std::string& key, Read read) {
    const YamlNode* const list = map.get(key);
    if (list == nullptr) return;
    if (list->kind != NodeKind::kList) {
      errors_.add(list->at, key, key + " must be a list: one '- name: ...' for each");
      return;
    }
    if (list->items.size() > kMostItems) {
      errors_.add(list->at, key,
                  key + " has more than " + std::to_string(kMostItems) +
                      " entries; put alike ones together with count:");
      return;
    }
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      read(list->items[i], key + "[" + std::to_string(i + 1) + "]");
    }
  }

  static std::string join(const std::string& key, std::string_view name) {
    return key.empty() ? std::string(name) : key + "." + std::string(name);
  }

  std::string name(const YamlMap& map, const YamlNode& at, const std::string& key) {
    const YamlNode* const node = map.get("name");
    if (node == nullptr) {
      if (map.is_map()) errors_.add(at.at, join(key, "name"), "name is missing");
      return {};
    }
    return printable(fields_.text(*node, join(key, "name")), 60);
  }

  // Without `otherwise` it must be there.
  std::optional<RuleNumber> value(const YamlMap& map, const YamlNode& at, const std::string& key,
                                  const std::string& name, bool must, std::string_view example) {
    const YamlNode* const node = map.get(name);
    if (node == nullptr) {
      if (must && map.is_map()) {
        errors_.add(at.at, join(key, name),
                    name + " is missing; write " + name + ": " + std::string(example));
      }
      return std::nullopt;
    }
    std::optional<RuleNumber> read;
    if (node->kind == NodeKind::kScalar) read = parse_rule_number(node->text);
    if (!read || read->value < 0 || read->value > kMostBytes) {
      errors_.add(node->at, join(key, name),
                  name + " must be a number such as " + std::string(example) + ", found '" +
                      printable(node->text, 60) + "'");
      return std::nullopt;
    }
    return read;
  }

  double bytes(const YamlMap& map, const YamlNode& at, const std::string& key,
               const std::string& name, std::optional<double> otherwise) {
    const auto read = value(map, at, key, name, !otherwise, "64MiB");
    if (!read) return otherwise.value_or(0);
    if (read->unit != NumberUnit::kSize) {
      errors_.add(map.get(name)->at, join(key, name), name + " needs a unit: 64MiB, 1500MB, 2GiB");
    }
    return read->value;
  }

  double number(const YamlMap& map, const YamlNode& at, const std::string& key,
                const std::string& name, std::optional<double> otherwise) {
    const auto read = value(map, at, key, name, !otherwise, "30");
    if (!read) return otherwise.value_or(0);
    if (read->unit != NumberUnit::kPlain && read->unit != NumberUnit::kPercent) {
      errors_.add(map.get(name)->at, join(key, name), name + " is a number without a unit");
    }
    return read->value;
  }

  std::uint64_t whole(const YamlMap& map, const YamlNode& at, const std::string& key,
                      const std::string& name, std::optional<std::uint64_t> otherwise) {
    const double read =
        number(map, at, key, name,
               otherwise ? std::optional<double>(static_cast<double>(*otherwise)) : std::nullopt);
    if (read != std::floor(read) || read > 1e9) {
      errors_.add(map.get(name)->at, join(key, name), name + " must be a whole number");
      return 0;
    }
    return static_cast<std::uint64_t>(read);
  }

  std::optional<bool> yes_or_no(const YamlMap& map, const std::string& key,
                                const std::string& name) {
    const YamlNode* const node = map.get(name);
    if (node == nullptr) return std::nullopt;
    if (node->text == "true" || node->text == "false") return node->text == "true";
    errors_.add(node->at, join(key, name),
                name + " must be true or false, found '" + printable(node->text, 60) + "'");
    return std::nullopt;
  }

  void camera(const YamlNode& node, const std::string& key) {
    constexpr std::array<std::string_view, 6> kNames{"name",   "count", "width",
                                                     "height", "rate",  "stages"};
    const YamlMap map(errors_, node, key, kNames, "a camera");
    Camera camera;
    camera.name = name(map, node, key);
    camera.count = whole(map, node, key, "count", 1);
    camera.width = size(map, node, key, "width");
    camera.height = size(map, node, key, "height");
    camera.rate = number(map, node, key, "rate", 30.0);
    const YamlNode* const stages = map.get("stages");
    if (stages == nullptr) {
      // A sensor on CSI with NVIDIA's ISP, four buffers each.
      camera.stages = {{"capture", pixel_format_named("raw10"), 0, 0, 4, {}, 1},
                       {"isp", pixel_format_named("nv12"), 0, 0, 4, {}, 1},
                       {"inference", pixel_format_named("nv12"), 0, 0, 4, {}, 1}};
    } else if (stages->kind != NodeKind::kMap) {
      errors_.add(stages->at, join(key, "stages"),
                  "stages must be a map: capture: {format: raw10, buffers: 4}");
    } else {
      for (std::size_t i = 0; i < stages->items.size() && i < kMostItems; ++i) {
        stage(stages->keys[i], stages->items[i], join(key, "stages"), camera);
      }
    }
    out_.plan.cameras.push_back(std::move(camera));
  }

  std::uint64_t size(const YamlMap& map, const YamlNode& node, const std::string& key,
                     const std::string& name) {
    const std::uint64_t read = whole(map, node, key, name, std::nullopt);
    if (map.get(name) != nullptr && (read == 0 || read > 65536)) {
      errors_.add(map.get(name)->at, join(key, name), name + " must be from 1 to 65536 pixels");
    }
    return read;
  }

  void stage(const YamlNode& key_node, const YamlNode& node, const std::string& above,
             Camera& camera) {
    constexpr std::array<std::string_view, 6> kNames{"format",  "width",      "height",
                                                     "buffers", "contiguous", "reads"};
    Stage stage;
    stage.name = printable(key_node.text, 60);
    const std::string key = join(above, stage.name);
    const YamlMap map(errors_, node, key, kNames, "a stage");
    if (const YamlNode* format = map.get("format")) {
      stage.format = pixel_format_named(format->text);
      if (stage.format == nullptr) {
        std::vector<std::string_view> names;
        for (const PixelFormat& each : pixel_formats()) names.push_back(each.name);
        errors_.add(format->at, join(key, "format"),
                    "unknown format '" + printable(format->text, 60) + "'" +
                        did_you_mean(format->text, names, "; known are " + join_names(names)));
      }
    } else if (map.is_map()) {
      errors_.add(node.at, join(key, "format"), "format is missing; write format: nv12");
    }
    if (map.get("width") != nullptr) stage.width = size(map, node, key, "width");
    if (map.get("height") != nullptr) stage.height = size(map, node, key, "height");
    stage.buffers = whole(map, node, key, "buffers", 4);
    stage.reads = number(map, node, key, "reads", 1.0);
    stage.contiguous = yes_or_no(map, key, "contiguous");
    camera.stages.push_back(std::move(stage));
  }

  void model(const YamlNode& node, const std::string& key) {
    constexpr std::array<std::string_view, 8> kNames{
        "name", "count", "engine", "weights", "activations", "workspace", "io", "rate"};
    const YamlMap map(errors_, node, key, kNames, "a model");
    Model model;
    model.name = name(map, node, key);
    model.count = whole(map, node, key, "count", 1);
    if (const YamlNode* engine = map.get("engine")) {
      if (engine->text == "dla") {
        model.engine = Engine::kDla;
      } else if (engine->text != "gpu") {
        errors_.add(engine->at, join(key, "engine"),
                    "engine must be gpu or dla, found '" + printable(engine->text, 60) + "'");
      }
    }
    model.weights = bytes(map, node, key, "weights", std::nullopt);
    model.activations = bytes(map, node, key, "activations", 0.0);
    model.workspace = bytes(map, node, key, "workspace", 0.0);
    model.io = bytes(map, node, key, "io", 0.0);
    model.rate = number(map, node, key, "rate", 0.0);
    out_.plan.models.push_back(std::move(model));
  }

  void language_model(const YamlNode& node, const std::string& key) {
    constexpr std::array<std::string_view, 13> kNames{
        "name",    "parameters", "bits",      "weights", "layers",      "kv_heads", "head_size",
        "kv_bits", "context",    "sequences", "rate",    "activations", "workspace"};
    const YamlMap map(errors_, node, key, kNames, "a language model");
    LanguageModel model;
    model.name = name(map, node, key);
    if (map.get("weights") != nullptr) {
      model.weights = bytes(map, node, key, "weights", std::nullopt);
    } else {
      model.weights = number(map, node, key, "parameters", std::nullopt) *
                      number(map, node, key, "bits", 16.0) / 8;
    }
    model.layers = whole(map, node, key, "layers", std::nullopt);
    model.kv_heads = whole(map, node, key, "kv_heads", std::nullopt);
    model.head_size = whole(map, node, key, "head_size", std::nullopt);
    model.kv_bytes = number(map, node, key, "kv_bits", 16.0) / 8;
    model.context = whole(map, node, key, "context", std::nullopt);
    model.sequences = whole(map, node, key, "sequences", 1);
    model.rate = number(map, node, key, "rate", 0.0);
    model.activations = bytes(map, node, key, "activations", 0.0);
    model.workspace = bytes(map, node, key, "workspace", 0.0);
    if (model.kv_cache() > kMostBytes) {
      errors_.add(node.at, key,
                  "its key-value cache is beyond 10 TB; look at layers, kv_heads, "
                  "head_size, context and sequences");
    }
    out_.plan.language_models.push_back(std::move(model));
  }

  ReadPlan& out_;
  ConfigErrors errors_;
  YamlFields fields_;
};

}  // namespace

double LanguageModel::kv_bytes_per_token() const {
  if (from_file) {
    const double tokens = static_cast<double>(context) * static_cast<double>(sequences);
    return tokens > 0 ? kv_cache() / tokens : 0;
  }
  // A key and a value for each head of each layer.
  return 2.0 * static_cast<double>(layers) * static_cast<double>(kv_heads) *
         static_cast<double>(head_size) * kv_bytes;
}

double LanguageModel::kv_cache() const {
  if (from_file) return cache.value_or(0);
  return kv_bytes_per_token() * static_cast<double>(context) * static_cast<double>(sequences);
}

std::optional<double> LanguageModel::bytes_per_token() const {
  const double of_cache =
      sequences > 0 ? least_cache.value_or(kv_cache()) / static_cast<double>(sequences) : 0;
  if (!from_file) return weights + of_cache;
  if (!weights_per_token || !cache) return std::nullopt;
  return *weights_per_token + of_cache;
}

ReadPlan parse_plan(const std::string& file, std::string_view text) {
  ReadPlan out;
  const YamlDocument document = parse_yaml(text);
  ConfigErrors(file, out.errors).add(document.problems);
  if (!document.readable) return out;
  if (document.root.kind == NodeKind::kNull) {
    out.errors.push_back({file, 0, 0, "", "the plan is empty; docs/plan.md has an example"});
    return out;
  }
  PlanReader(file, out).read(document.root);
  return out;
}

}  // namespace jetmem::plan
