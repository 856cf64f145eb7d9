// SPDX-License-Identifier: Apache-2.0
#include "probes/program/report.h"

#include <unistd.h>

#include <cmath>

#include "probes/program/gpu.h"
#include "probes/program/json.h"

#ifndef JETMEM_VERSION
#define JETMEM_VERSION "unknown"
#endif

namespace jetmem::probe {
namespace {

template <class T>
void put(JsonWriter& out, const char* name, const std::optional<T>& value) {
  if (value) out.member(name, *value);
}

// As long as the schema lets words be.
std::string words(const std::string& text) {
  constexpr std::size_t kLongest = 300;
  return text.size() <= kLongest ? text : text.substr(0, kLongest - 3) + "...";
}

void write(JsonWriter& out, const Conditions& conditions) {
  out.begin_object();
  put(out, "cpu_min_hertz", conditions.cpu_min_hertz);
  put(out, "cpu_max_hertz", conditions.cpu_max_hertz);
  put(out, "gpu_hertz", conditions.gpu_hertz);
  put(out, "emc_hertz", conditions.emc_hertz);
  put(out, "temperature_celsius", conditions.temperature_celsius);
  if (conditions.temperature_celsius) out.member("hottest_zone", conditions.hottest_zone);
  put(out, "power_mode", conditions.power_mode);
  out.key("absent").begin_object();
  for (const auto& [name, why] : conditions.absent) out.member(name, why);
  out.end_object();
  out.end_object();
}

void write(JsonWriter& out, const std::vector<Step>& steps) {
  out.begin_array();
  for (const Step& step : steps) {
    out.begin_object().member("step", step.step).member("seconds", step.seconds);
    if (step.bytes > 0 && step.seconds > 0) {
      out.member("bytes_per_second", static_cast<double>(step.bytes) / step.seconds);
    }
    if (!step.calls.empty()) {
      out.key("calls").begin_array();
      for (const Call& call : step.calls) {
        out.begin_object().member("call", call.call).member("result", call.result).end_object();
      }
      out.end_array();
    }
    out.end_object();
  }
  out.end_array();
}

void write(JsonWriter& out, const SizeStep& size_step) {
  out.begin_object().member("bytes", size_step.bytes);
  put(out, "mismatches", size_step.mismatches);
  out.key("steps");
  write(out, size_step.steps);
  out.end_object();
}

void write(JsonWriter& out, const PoolUses& pool) {
  out.begin_object();
  const auto moment = [&](const char* name, const std::optional<PoolUse>& use) {
    if (!use) return;
    out.key(name).begin_object().member("reserved_bytes", use->reserved_bytes);
    out.member("used_bytes", use->used_bytes).end_object();
  };
  moment("allocated", pool.allocated);
  moment("freed", pool.freed);
  moment("trimmed", pool.trimmed);
  put(out, "release_threshold_bytes", pool.release_threshold_bytes);
  out.end_object();
}

void write(JsonWriter& out, const Result& result) {
  out.begin_object().member("kind", result.kind).member("target", result.target);
  out.member("state", state_name(result.state));
  if (result.state != State::kOk) out.member("reason", words(result.reason));
  if (!result.failed_step.empty()) {
    out.member("failed_step", result.failed_step).member("failed_bytes", result.failed_bytes);
  }
  if (!result.error.empty()) out.member("error", result.error);
  if (!result.not_checked.empty()) out.member("not_checked", words(result.not_checked));
  if (result.warm_up) {
    out.key("warm_up");
    write(out, *result.warm_up);
  }
  out.key("rungs").begin_array();
  for (const SizeStep& size_step : result.size_steps) write(out, size_step);
  out.end_array();
  out.key("ratios").begin_array();
  for (const Ratio& ratio : result.ratios) {
    out.begin_object().member("ratio", ratio.name);
    out.member("value", ratio.value.value_or(std::nan("")));  // null
    out.member("expected", words(ratio.expected)).member("judgement", ratio.judgement).end_object();
  }
  out.end_array();
  if (result.bisection) {
    const Bisection& found = *result.bisection;
    out.key("bisection").begin_object();
    out.member("largest_bytes", found.largest_bytes).member("limit_bytes", found.limit_bytes);
    out.member("tries", std::uint64_t{found.tries}).member("error", found.error).end_object();
  }
  if (result.pool) {
    out.key("pool");
    write(out, *result.pool);
  }
  out.end_object();
}

void write(JsonWriter& out, const Kernels& kernels) {
  out.begin_object().member("state", state_name(kernels.state));
  if (kernels.state != State::kOk) {
    out.member("reason", words(kernels.reason)).member("error", kernels.error);
  }
  out.member("code", kernels.code).member("seconds", kernels.seconds);
  put(out, "resident_bytes", kernels.resident_bytes);
  put(out, "peak_bytes", kernels.peak_bytes);
  put(out, "gpu_bytes", kernels.gpu_bytes);
  out.end_object();
}

void write(JsonWriter& out, const Gpu& gpu) {
  out.begin_object().member("state", state_name(gpu.state));
  if (gpu.state != State::kOk) out.member("reason", words(gpu.reason));
  if (gpu.driver) {
    out.member("driver",
               std::to_string(*gpu.driver / 1000) + "." + std::to_string(*gpu.driver % 1000 / 10));
  }
  if (!gpu.name.empty()) {
    out.member("name", gpu.name);
    out.member("compute_capability",
               std::to_string(gpu.capability_major) + "." + std::to_string(gpu.capability_minor));
    out.member("integrated", gpu.integrated);
    out.key("can").begin_object();
    for (const auto& [what, can] : gpu.can) out.member(what, can);
    out.end_object();
  }
  put(out, "free_bytes", gpu.free_bytes);
  put(out, "total_bytes", gpu.total_bytes);
  if (gpu.kernels) {
    out.key("kernels");
    write(out, *gpu.kernels);
  }
  out.key("start");
  write(out, gpu.start);
  out.end_object();
}

void write_start(JsonWriter& out, const RunTimes& times) {
  out.member("schema", kSchema).member("version", JETMEM_VERSION);
  out.member("pid", static_cast<std::int64_t>(::getpid()));
  out.key("started").begin_object();
  // More digits than a duration needs: microseconds after years.
  out.member("boot_microseconds", static_cast<std::uint64_t>(times.started_boot_seconds * 1e6));
  out.member("wall_microseconds", static_cast<std::uint64_t>(times.started_wall_seconds * 1e6));
  out.end_object();
}

template <class T>
std::string piece(const T& what) {
  JsonWriter out;
  write(out, what);
  return out.text();
}

}  // namespace

std::string report(const Run& run, const RunTimes& times) {
  JsonWriter out;
  out.begin_object();
  write_start(out, times);
  out.member("seconds", times.seconds);
  out.member("frame_bytes", run.options().frame_bytes);
  out.key("conditions").begin_object().key("before");
  write(out, times.before);
  out.key("after");
  write(out, times.after);
  out.end_object();
  if (gpu_was_queried()) {
    out.key("gpu");
    write(out, used_gpus().front());
    if (used_gpus().size() > 1) {
      out.key("more_gpus").begin_array();
      for (std::size_t i = 1; i < used_gpus().size(); ++i) write(out, used_gpus()[i]);
      out.end_array();
    }
    if (omitted_gpus() > 0) out.member("omitted_gpus", std::uint64_t{omitted_gpus()});
  }
  out.key("probes").begin_array();
  for (const Result& result : run.results()) write(out, result);
  out.end_array().end_object();
  return out.text();
}

std::string run_header_json(const Run& run, const RunTimes& times) {
  JsonWriter out;
  out.begin_object();
  write_start(out, times);
  out.member("frame_bytes", run.options().frame_bytes);
  out.key("before");
  write(out, times.before);
  out.end_object();
  return out.text();
}

std::string gpu_report_json() { return piece(gpu()); }

std::string result_json(const Result& result) { return piece(result); }

}  // namespace jetmem::probe
