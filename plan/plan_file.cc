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

// RAW of more than 8 bits takes two bytes a pixel in memory on Tegra's VI and in V4L2's unpacked
// formats; the packed ones have names of their own.
constexpr std::array kFormats{
    PixelFormat{"raw8", 2},       // Bayer, 8 bits
    PixelFormat{"raw10", 4},      // Bayer, 10 bits in two bytes
    PixelFormat{"raw12", 4},      // Bayer, 12 bits in two bytes
    PixelFormat{"raw14", 4},      // Bayer, 14 bits in two bytes
    PixelFormat{"raw16", 4},      // Bayer, 16 bits
    PixelFormat{"raw20", 8},      // Bayer, 20 bits in four bytes (HDR)
    PixelFormat{"grey", 2},       // 8 bits
    PixelFormat{"nv12", 3},       // YUV 4:2:0, 8 bits
    PixelFormat{"i420", 3},       // YUV 4:2:0, 8 bits, three planes
    PixelFormat{"p010", 6},       // YUV 4:2:0, 10 bits in two bytes
    PixelFormat{"yuyv", 4},       // YUV 4:2:2, 8 bits
    PixelFormat{"uyvy", 4},       // YUV 4:2:2, 8 bits
    PixelFormat{"rgb", 6},        // 8 bits
    PixelFormat{"rgba", 8},       // 8 bits
    PixelFormat{"rgb_fp16", 12},  // planar, 16-bit floats
    PixelFormat{"rgb_fp32", 24},  // planar, 32-bit floats
};

class PlanReader {
 public:
  PlanReader(const std::string& file, ReadPlan& out)
      : out_(out), errors_(file, out.errors), fields_(errors_) {}

  void read(const YamlNode& root) {
    constexpr std::array<std::string_view, 12> kKeys{
        "device",  "cameras",        "models",       "language_models", "services",    "copies",
        "reserve", "cuda_processes", "cuda_context", "bandwidth_share", "description", "on_top"};
    const Entry top{{errors_, root, "", kKeys, "a plan"}, root, ""};
    if (!top.map.is_map()) return;
    Plan& plan = out_.plan;
    if (const YamlNode* node = top.map.get("device")) {
      plan.device = fields_.word(*node, "device").value_or("");
    }
    each(top, "cameras", [&](const YamlNode& node, const std::string& key) { camera(node, key); });
    each(top, "models", [&](const YamlNode& node, const std::string& key) { model(node, key); });
    each(top, "language_models",
         [&](const YamlNode& node, const std::string& key) { language_model(node, key); });
    each(top, "services", [&](const YamlNode& node, const std::string& key) {
      constexpr std::array<std::string_view, 2> kNames{"name", "memory"};
      const Entry one{{errors_, node, key, kNames, "a service"}, node, key};
      Service service;
      service.name = name(one);
      service.memory = bytes(one, "memory", std::nullopt);
      plan.services.push_back(std::move(service));
    });
    each(top, "copies", [&](const YamlNode& node, const std::string& key) {
      constexpr std::array<std::string_view, 3> kNames{"name", "bytes", "rate"};
      const Entry one{{errors_, node, key, kNames, "a copy"}, node, key};
      Copy copy;
      copy.name = name(one);
      copy.bytes = bytes(one, "bytes", std::nullopt);
      copy.rate = number(one, "rate", std::nullopt);
      plan.copies.push_back(std::move(copy));
    });
    plan.on_top = yes_or_no(top, "on_top").value_or(false);
    plan.reserve = bytes(top, "reserve", plan.reserve);
    if (top.map.get("cuda_processes") != nullptr) {
      plan.cuda_processes = whole(top, "cuda_processes", 0);
    }
    plan.has_cuda_context = top.map.get("cuda_context") != nullptr;
    plan.cuda_context = bytes(top, "cuda_context", plan.cuda_context);
    plan.bandwidth_share = number(top, "bandwidth_share", plan.bandwidth_share);
    if (plan.bandwidth_share <= 0 || plan.bandwidth_share > 1) {
      add(top, *top.map.get("bandwidth_share"), "bandwidth_share",
          "bandwidth_share must be above 0% and at most 100%");
    }
  }

 private:
  // A map of the plan, and where it is: "cameras[1]".
  struct Entry {
    YamlMap map;
    const YamlNode& node;
    std::string key;
  };

  template <class Read>
  void each(const Entry& top, const std::string& key, Read read) {
    const YamlNode* const list = top.map.get(key);
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

  // About `name` in it.
  void add(const Entry& one, const YamlNode& at, std::string_view name, std::string message) {
    errors_.add(at.at, join(one.key, name), std::move(message));
  }

  static std::string join(const std::string& key, std::string_view name) {
    return key.empty() ? std::string(name) : key + "." + std::string(name);
  }

  std::string name(const Entry& one) {
    const YamlNode* const node = one.map.get("name");
    if (node == nullptr) {
      if (one.map.is_map()) add(one, one.node, "name", "name is missing");
      return {};
    }
    return printable(fields_.text(*node, join(one.key, "name")), 60);
  }

  // Without `otherwise` it must be there.
  std::optional<RuleNumber> value(const Entry& one, const std::string& name, bool must,
                                  std::string_view example) {
    const YamlNode* const node = one.map.get(name);
    if (node == nullptr) {
      if (must && one.map.is_map()) {
        add(one, one.node, name, name + " is missing; write " + name + ": " + std::string(example));
      }
      return std::nullopt;
    }
    std::optional<RuleNumber> read;
    if (node->kind == NodeKind::kScalar) read = parse_rule_number(node->text);
    if (!read || read->value < 0 || read->value > kMostBytes) {
      add(one, *node, name,
          name + " must be a number such as " + std::string(example) + ", found '" +
              printable(node->text, 60) + "'");
      return std::nullopt;
    }
    return read;
  }

  double bytes(const Entry& one, const std::string& name, std::optional<double> otherwise) {
    const auto read = value(one, name, !otherwise, "64MiB");
    if (!read) return otherwise.value_or(0);
    if (read->unit != NumberUnit::kSize) {
      add(one, *one.map.get(name), name, name + " needs a unit: 64MiB, 1500MB, 2GiB");
    }
    return read->value;
  }

  double number(const Entry& one, const std::string& name, std::optional<double> otherwise) {
    const auto read = value(one, name, !otherwise, "30");
    if (!read) return otherwise.value_or(0);
    if (read->unit != NumberUnit::kPlain && read->unit != NumberUnit::kPercent) {
      add(one, *one.map.get(name), name, name + " is a number without a unit");
    }
    return read->value;
  }

  std::uint64_t whole(const Entry& one, const std::string& name,
                      std::optional<std::uint64_t> otherwise) {
    const double read =
        number(one, name,
               otherwise ? std::optional<double>(static_cast<double>(*otherwise)) : std::nullopt);
    if (read != std::floor(read) || read > 1e9) {
      add(one, *one.map.get(name), name, name + " must be a whole number");
      return 0;
    }
    return static_cast<std::uint64_t>(read);
  }

  std::optional<bool> yes_or_no(const Entry& one, const std::string& name) {
    const YamlNode* const node = one.map.get(name);
    if (node == nullptr) return std::nullopt;
    if (node->text == "true" || node->text == "false") return node->text == "true";
    add(one, *node, name,
        name + " must be true or false, found '" + printable(node->text, 60) + "'");
    return std::nullopt;
  }

  void camera(const YamlNode& node, const std::string& key) {
    constexpr std::array<std::string_view, 6> kNames{"name",   "count", "width",
                                                     "height", "rate",  "stages"};
    const Entry one{{errors_, node, key, kNames, "a camera"}, node, key};
    Camera camera;
    camera.name = name(one);
    camera.count = whole(one, "count", 1);
    camera.width = size(one, "width");
    camera.height = size(one, "height");
    camera.rate = number(one, "rate", 30.0);
    const YamlNode* const stages = one.map.get("stages");
    if (stages == nullptr) {
      // A sensor on CSI with NVIDIA's ISP, four buffers each.
      camera.stages = {{"capture", pixel_format_named("raw10"), 0, 0, 4, {}, 1},
                       {"isp", pixel_format_named("nv12"), 0, 0, 4, {}, 1},
                       {"inference", pixel_format_named("nv12"), 0, 0, 4, {}, 1}};
    } else if (stages->kind != NodeKind::kMap) {
      add(one, *stages, "stages", "stages must be a map: capture: {format: raw10, buffers: 4}");
    } else {
      for (std::size_t i = 0; i < stages->items.size() && i < kMostItems; ++i) {
        stage(stages->keys[i], stages->items[i], join(key, "stages"), camera);
      }
    }
    out_.plan.cameras.push_back(std::move(camera));
  }

  std::uint64_t size(const Entry& one, const std::string& name) {
    const std::uint64_t read = whole(one, name, std::nullopt);
    if (one.map.get(name) != nullptr && (read == 0 || read > 65536)) {
      add(one, *one.map.get(name), name, name + " must be from 1 to 65536 pixels");
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
    const Entry one{{errors_, node, key, kNames, "a stage"}, node, key};
    if (const YamlNode* format = one.map.get("format")) {
      stage.format = pixel_format_named(format->text);
      if (stage.format == nullptr) {
        std::vector<std::string_view> names;
        for (const PixelFormat& each : kFormats) names.push_back(each.name);
        add(one, *format, "format",
            "unknown format '" + printable(format->text, 60) + "'" +
                did_you_mean(format->text, names, "; known are " + join_names(names)));
      }
    } else if (one.map.is_map()) {
      add(one, node, "format", "format is missing; write format: nv12");
    }
    if (one.map.get("width") != nullptr) stage.width = size(one, "width");
    if (one.map.get("height") != nullptr) stage.height = size(one, "height");
    stage.buffers = whole(one, "buffers", 4);
    stage.reads = number(one, "reads", 1.0);
    stage.contiguous = yes_or_no(one, "contiguous");
    camera.stages.push_back(std::move(stage));
  }

  void model(const YamlNode& node, const std::string& key) {
    constexpr std::array<std::string_view, 8> kNames{
        "name", "count", "engine", "weights", "activations", "workspace", "io", "rate"};
    const Entry one{{errors_, node, key, kNames, "a model"}, node, key};
    Model model;
    model.name = name(one);
    model.count = whole(one, "count", 1);
    if (const YamlNode* engine = one.map.get("engine")) {
      if (engine->text == "dla") {
        model.engine = Engine::kDla;
      } else if (engine->text != "gpu") {
        add(one, *engine, "engine",
            "engine must be gpu or dla, found '" + printable(engine->text, 60) + "'");
      }
    }
    model.weights = bytes(one, "weights", std::nullopt);
    model.activations = bytes(one, "activations", 0.0);
    model.workspace = bytes(one, "workspace", 0.0);
    model.io = bytes(one, "io", 0.0);
    model.rate = number(one, "rate", 0.0);
    out_.plan.models.push_back(std::move(model));
  }

  void language_model(const YamlNode& node, const std::string& key) {
    constexpr std::array<std::string_view, 13> kNames{
        "name",    "parameters", "bits",      "weights", "layers",      "kv_heads", "head_size",
        "kv_bits", "context",    "sequences", "rate",    "activations", "workspace"};
    const Entry one{{errors_, node, key, kNames, "a language model"}, node, key};
    LanguageModel model;
    model.name = name(one);
    if (one.map.get("weights") != nullptr) {
      model.weights = bytes(one, "weights", std::nullopt);
    } else {
      model.weights = number(one, "parameters", std::nullopt) * number(one, "bits", 16.0) / 8;
    }
    model.layers = whole(one, "layers", std::nullopt);
    model.kv_heads = whole(one, "kv_heads", std::nullopt);
    model.head_size = whole(one, "head_size", std::nullopt);
    model.kv_bytes = number(one, "kv_bits", 16.0) / 8;
    model.context = whole(one, "context", std::nullopt);
    model.sequences = whole(one, "sequences", 1);
    model.rate = number(one, "rate", 0.0);
    model.activations = bytes(one, "activations", 0.0);
    model.workspace = bytes(one, "workspace", 0.0);
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

const PixelFormat* pixel_format_named(std::string_view name) {
  for (const PixelFormat& format : kFormats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

std::uint64_t image_bytes(const PixelFormat& format, std::uint64_t width, std::uint64_t height) {
  return (width * height * format.bytes_per_two + 1) / 2;
}

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
