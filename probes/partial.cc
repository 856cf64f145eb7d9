// SPDX-License-Identifier: Apache-2.0
#include "probes/partial.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"
#include "collectors/probe/json.h"

namespace jetmem {
namespace {

// As many as a result may hold, and as deep as leaves room for what they are put into.
constexpr std::size_t kMaxDone = 64;
// Looked at; a program that prints tens of thousands costs the daemon no second.
constexpr std::size_t kMaxPieces = 128;
constexpr JsonBounds kPieceBounds{.depth = 12};
constexpr const char* kUnknownEndReason = "the run did not come to its end";
constexpr std::array<const char*, 6> kConditions{"cpu_min_hertz",       "cpu_max_hertz",
                                                 "gpu_hertz",           "emc_hertz",
                                                 "temperature_celsius", "power_mode"};

// One line, as printed by the program itself: ASCII, whatever a piece holds.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

bool is_result(const Json& run) {
  ProbeRun parsed;
  return parse_probe_run(line_of(run), parsed).has_value();
}

Json run_of(const Json& begun, double seconds) {
  Json run = Json::object();
  for (const char* name : {"schema", "version", "pid", "started", "frame_bytes"}) {
    if (const auto at = begun.find(name); at != begun.end()) run[name] = *at;
  }
  run["seconds"] = seconds;
  Json after = Json::object();
  for (const char* name : kConditions) after["absent"][name] = kUnknownEndReason;
  run["conditions"]["before"] = begun.value("before", Json::object());
  run["conditions"]["after"] = std::move(after);
  run["probes"] = Json::array();
  return run;
}

// A run of nothing, into which each piece is put to see whether it is one: small, whatever the
// program reported about itself.
Json empty_run() {
  Json begun = Json::object();
  begun["schema"] = "jetmem-probe/1";
  begun["version"] = "";
  begun["pid"] = 0U;
  begun["started"]["boot_microseconds"] = 0U;
  begun["started"]["wall_microseconds"] = 0U;
  begun["frame_bytes"] = 0U;
  return run_of(begun, 0);
}

class Pieces {
 public:
  explicit Pieces(double seconds) : seconds_(seconds), trial_(empty_run()) {}

  void take(std::string_view line) {
    if (pieces_ == kMaxPieces) return;
    if (take_prefix(line, "begun ")) {
      take_begun(line);
    } else if (take_prefix(line, "gpu ")) {
      take_gpu(line);
    } else if (take_prefix(line, "done ")) {
      take_done(line);
    } else {
      return;
    }
    ++pieces_;
  }

  std::string line() const {
    if (!run_.is_object() || gpu_is_broken_ || run_["probes"].empty()) return {};
    std::string line = line_of(run_);
    // Pieces that are sound each may be too much together.
    ProbeRun parsed;
    if (!parse_probe_run(line, parsed)) line.clear();
    return line;
  }

 private:
  // The first sound one counts; what comes before it has nowhere to go.
  void take_begun(std::string_view text) {
    if (run_.is_object()) return;
    const auto begun = parse_json(text, kPieceBounds);
    if (!begun || !begun->is_object()) return;
    Json run = run_of(*begun, seconds_);
    if (is_result(run)) run_ = std::move(run);
  }
  // It decides the run's group, so the run is useless without it.
  void take_gpu(std::string_view text) {
    if (!run_.is_object() || run_.contains("gpu")) return;
    auto gpu = parse_json(text, kPieceBounds);
    if (gpu) {
      Json trial = trial_;
      trial["gpu"] = *gpu;
      gpu_is_broken_ = !gpu->is_object() || !is_result(trial);
    }
    gpu_is_broken_ = gpu_is_broken_ || !gpu;
    if (!gpu_is_broken_) run_["gpu"] = std::move(*gpu);
  }
  void take_done(std::string_view text) {
    if (!run_.is_object() || run_["probes"].size() == kMaxDone) return;
    auto probe = parse_json(text, kPieceBounds);
    if (!probe) return;
    Json trial = trial_;
    trial["probes"].push_back(*probe);
    if (is_result(trial)) run_["probes"].push_back(std::move(*probe));
  }

  double seconds_;
  std::size_t pieces_ = 0;
  const Json trial_;
  Json run_;
  bool gpu_is_broken_ = false;
};

}  // namespace

std::string partial_probe_result(std::string_view text, std::chrono::duration<double> elapsed) {
  Pieces pieces(elapsed.count());
  Lines lines(text);
  std::string_view line;
  while (lines.next(line)) {
    const bool is_whole = !lines.rest().empty() || text.back() == '\n';
    if (is_whole) pieces.take(line);
  }
  return pieces.line();
}

std::string with_lost_probe(std::string line, const ProbeRun::Probe& lost, const LostRun& run) {
  Json json;
  if (auto parsed = parse_json(line, JsonBounds{}); parsed && parsed->is_object()) {
    json = std::move(*parsed);
  } else {
    json = empty_run();
    const auto microseconds = [](Nanoseconds since) {
      return static_cast<std::uint64_t>(std::max<std::int64_t>(since.count() / 1000, 0));
    };
    json["started"]["boot_microseconds"] = microseconds(run.started_boot);
    json["started"]["wall_microseconds"] = microseconds(run.started_wall);
    json["frame_bytes"] = run.frame_bytes;
    json["seconds"] = to_seconds(run.elapsed);
    for (const char* name : kConditions)
      json["conditions"]["before"]["absent"][name] = kUnknownEndReason;
  }
  if (run.cuda && !json.contains("gpu")) {
    json["gpu"]["state"] = "failed";
    json["gpu"]["reason"] = kUnknownEndReason;
    json["gpu"]["start"] = Json::array();
  }
  Json probe = Json::object();
  probe["kind"] = lost.kind;
  probe["target"] = lost.target;
  probe["state"] = probe_state_name(ProbeState::kFailed);
  probe["reason"] = lost.reason;
  if (!lost.failed_step.empty()) {
    probe["failed_step"] = lost.failed_step;
    probe["failed_bytes"] = lost.failed_bytes;
  }
  probe["error"] = lost.error;
  probe["rungs"] = Json::array();
  probe["ratios"] = Json::array();
  json["probes"].push_back(std::move(probe));
  std::string reported = line_of(json);
  ProbeRun parsed;
  if (parse_probe_run(reported, parsed)) return reported;
  return line;
}

}  // namespace jetmem
