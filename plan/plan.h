// SPDX-License-Identifier: Apache-2.0
// What is to run on a device, as a file describes it (docs/plan.md): cameras, models, language
// models, services, copies. Sizes in bytes, rates per second.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/files.h"

namespace jetmem::plan {

struct PixelFormat {
  std::string_view name;
  // Bytes of two pixels, so that 4:2:0 comes out whole.
  std::uint32_t bytes_per_two;
};
// Null: not known.
const PixelFormat* pixel_format_named(std::string_view name);
// Bytes of one image without what a driver puts behind each row: that is its own choice.
std::uint64_t image_bytes(const PixelFormat& format, std::uint64_t width, std::uint64_t height);

// One ring of buffers that a camera's image goes through.
struct Stage {
  std::string name;  // "capture", "isp", "inference", ...
  const PixelFormat* format = nullptr;
  std::uint64_t width = 0;  // where it differs from the camera's
  std::uint64_t height = 0;
  std::uint64_t buffers = 4;
  // Whether each buffer must be in one piece. Absent: as the device's cameras need it.
  std::optional<bool> contiguous;
  double reads = 1;  // how often each image is read from it
};

struct Camera {
  std::string name;
  std::uint64_t count = 1;  // of the same kind
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  double rate = 30;
  std::vector<Stage> stages;
};

enum class Engine : std::uint8_t { kGpu, kDla };

// The memory of TensorRT, in its own four parts.
struct Model {
  std::string name;
  std::uint64_t count = 1;
  Engine engine = Engine::kGpu;
  double weights = 0;
  double activations = 0;
  double workspace = 0;
  double io = 0;
  double rate = 0;  // inferences a second; 0: not said, and no bandwidth is counted
};

struct LanguageModel {
  std::string name;
  double weights = 0;
  double activations = 0;
  double workspace = 0;
  std::uint64_t layers = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_size = 0;
  double kv_bytes = 2;  // of one number in the cache
  std::uint64_t context = 0;
  std::uint64_t sequences = 1;
  double rate = 0;  // tokens a second that are wanted

  // Of a model whose own files were read (model/model_file.h). Its layers may differ, so the cache
  // is a sum of theirs.
  bool from_file = false;
  bool has_weights = true;
  bool weights_are_least = false;
  bool is_language = true;                  // else it has no KV cache that is known of
  std::string weights_how;                  // of which form; why they are not known
  std::optional<double> weights_per_token;  // of the weights, those that one token reads
  std::string kv_type;
  std::optional<double> cache;        // all of the context of all sequences, at most
  std::optional<double> least_cache;  // with a runtime that drops and shares what it can
  std::string no_cache_reason;        // why `cache` is absent
  std::vector<std::string> notes;

  // Keys and values of one token, and of all of the context of all sequences.
  double kv_bytes_per_token() const;
  double kv_cache() const;
  // What one token reads; absent: not known.
  std::optional<double> bytes_per_token() const;
};

struct Service {
  std::string name;
  double memory = 0;
};

struct Copy {
  std::string name;
  double bytes = 0;
  double rate = 0;
};

struct Plan {
  std::string device;  // as named; empty: the device that is looked at
  std::vector<Camera> cameras;
  std::vector<Model> models;
  std::vector<LanguageModel> language_models;
  std::vector<Service> services;
  std::vector<Copy> copies;
  // Absent: one, where models run on a GPU with CUDA.
  std::optional<std::uint64_t> cuda_processes;
  // What a process that uses CUDA takes before its first buffer. An assumption unless it is given.
  double cuda_context = 300e6;
  bool has_cuda_context = false;
  // To be left free whatever happens.
  double reserve = 512.0 * (1 << 20);
  // The share of the memory's peak bandwidth that a plan may count on.
  double bandwidth_share = 0.7;
  // What runs on the device now goes on, and the plan comes on top of it; else the plan is all that
  // is to run.
  bool on_top = false;
};

struct ReadPlan {
  Plan plan;
  std::vector<ConfigError> errors;  // any: the plan is not to be used
};

ReadPlan parse_plan(const std::string& file, std::string_view text);

}  // namespace jetmem::plan
