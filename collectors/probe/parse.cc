// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text/text.h"
#include "collectors/probe/json.h"
#include "collectors/probe/source.h"

namespace jetmem {
namespace {

constexpr std::string_view kSchema = "jetmem-probe/1";

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kLongestWords = 300;
constexpr std::size_t kMaxProbes = 64;
constexpr std::size_t kMaxMoreGpus = 8;
constexpr std::size_t kMaxSizeSteps = 16;
constexpr std::size_t kMaxSteps = 32;
constexpr std::size_t kMaxRatios = 32;
constexpr std::size_t kMaxAbsent = 16;
constexpr double kAbsoluteZero = -274;
// Microseconds that still can be counted in nanoseconds.
constexpr std::uint64_t kLatest = INT64_MAX / 1000;

class RunTaker {
 public:
  explicit RunTaker(ProbeRun& out) : out_(out) {}

  Result<void> take(const Json& json) {
    const JsonPath run{&json};
    // Before anything else: of another format nothing else need be true.
    const std::string schema = take_.text(take_.member(run, "schema"), kLongestName);
    if (take_.error()) return tl::unexpected(*take_.error());
    if (schema != kSchema) {
      return fail(Errc::kMalformed,
                  "expected schema " + std::string(kSchema) + ", found \"" + schema + '"');
    }
    out_.version = take_.text(take_.member(run, "version"), kLongestName);
    out_.pid = take_.count(take_.member(run, "pid"));
    const JsonPath started = take_.member(run, "started");
    out_.started_boot = moment(take_.member(started, "boot_microseconds"));
    out_.started_wall = moment(take_.member(started, "wall_microseconds"));
    out_.seconds = take_.number(take_.member(run, "seconds"));
    out_.frame_bytes = take_.count(take_.member(run, "frame_bytes"));
    const JsonPath conditions = take_.member(run, "conditions");
    out_.before = conditions_of(take_.member(conditions, "before"));
    out_.after = conditions_of(take_.member(conditions, "after"));
    const JsonPath gpu = take_.member(run, "gpu");
    out_.has_gpu = gpu.is_there();
    if (out_.has_gpu) out_.gpu = gpu_of(gpu);
    if (const JsonPath more = take_.member(run, "more_gpus"); more.is_there()) {
      take_.each(more, kMaxMoreGpus, [&](const JsonPath& each) {
        if (auto another = gpu_of(each)) out_.more_gpus.push_back(std::move(*another));
      });
    }
    out_.omitted_gpus = take_.count_if_any(take_.member(run, "omitted_gpus")).value_or(0);
    take_.each(take_.member(run, "probes"), kMaxProbes,
               [&](const JsonPath& probe) { take_probe(probe); });
    if (take_.error()) return tl::unexpected(*take_.error());
    return {};
  }

 private:
  std::string name(const JsonPath& object, std::string_view member) {
    return take_.text(take_.member(object, member), kLongestName);
  }
  std::string name_if_any(const JsonPath& object, std::string_view member) {
    return take_.text_if_any(take_.member(object, member), kLongestName);
  }
  std::string words_if_any(const JsonPath& object, std::string_view member) {
    return take_.text_if_any(take_.member(object, member), kLongestWords);
  }
  std::optional<double> number_if_any(const JsonPath& object, std::string_view member) {
    return take_.number_if_any(take_.member(object, member));
  }
  std::uint64_t count_or_0(const JsonPath& object, std::string_view member) {
    return take_.count_if_any(take_.member(object, member)).value_or(0);
  }
  Nanoseconds moment(const JsonPath& at) {
    return std::chrono::microseconds(take_.count(at, kLatest));
  }

  ProbeRun::Conditions conditions_of(const JsonPath& at) {
    ProbeRun::Conditions out;
    out.cpu_min_hertz = number_if_any(at, "cpu_min_hertz");
    out.cpu_max_hertz = number_if_any(at, "cpu_max_hertz");
    out.gpu_hertz = number_if_any(at, "gpu_hertz");
    out.emc_hertz = number_if_any(at, "emc_hertz");
    out.temperature_celsius =
        take_.number_if_any(take_.member(at, "temperature_celsius"), kAbsoluteZero);
    out.hottest_zone = name_if_any(at, "hottest_zone");
    out.power_mode = take_.count_if_any(take_.member(at, "power_mode"));
    take_.each_member(
        take_.member(at, "absent"), kMaxAbsent, [&](std::string_view what, const JsonPath& why) {
          out.absent.emplace_back(printable(what, kLongestName), take_.text(why, kLongestWords));
        });
    return out;
  }

  std::vector<ProbeRun::Step> steps_of(const JsonPath& list) {
    std::vector<ProbeRun::Step> out;
    // What is read stays for minutes: no room that nobody uses.
    if (list.is_there()) out.reserve(std::min(list.value->size(), kMaxSteps));
    take_.each(list, kMaxSteps, [&](const JsonPath& at) {
      ProbeRun::Step& step = out.emplace_back();
      step.step = name(at, "step");
      step.seconds = take_.number(take_.member(at, "seconds"));
      step.bytes_per_second = number_if_any(at, "bytes_per_second");
    });
    return out;
  }

  ProbeRun::SizeStep size_step_of(const JsonPath& at) {
    ProbeRun::SizeStep out;
    out.bytes = take_.count(take_.member(at, "bytes"));
    out.mismatches = take_.count_if_any(take_.member(at, "mismatches"));
    out.steps = steps_of(take_.member(at, "steps"));
    return out;
  }

  std::optional<ProbeState> state_of(const JsonPath& object) {
    const std::string text = name(object, "state");
    for (std::size_t i = 0; i < kProbeStates; ++i) {
      const auto state = static_cast<ProbeState>(i);
      if (text == probe_state_name(state)) return state;
    }
    if (!take_.error()) ++out_.unknown_states;
    return std::nullopt;
  }

  std::optional<std::uint64_t> count_if_any(const JsonPath& object, std::string_view member) {
    return take_.count_if_any(take_.member(object, member));
  }

  std::optional<ProbeRun::Kernels> kernels_of(const JsonPath& at) {
    const auto state = state_of(at);
    if (!state) return std::nullopt;
    ProbeRun::Kernels out;
    out.state = *state;
    out.reason = words_if_any(at, "reason");
    out.code = words_if_any(at, "code");
    out.seconds = take_.number(take_.member(at, "seconds"));
    out.resident_bytes = count_if_any(at, "resident_bytes");
    out.peak_bytes = count_if_any(at, "peak_bytes");
    out.gpu_bytes = count_if_any(at, "gpu_bytes");
    return out;
  }

  ProbeRun::Pool pool_of(const JsonPath& at) {
    const auto use = [&](std::string_view moment) -> std::optional<ProbeRun::PoolUse> {
      const JsonPath found = take_.member(at, moment);
      if (!found.is_there()) return std::nullopt;
      return ProbeRun::PoolUse{take_.count(take_.member(found, "reserved_bytes")),
                               take_.count(take_.member(found, "used_bytes"))};
    };
    return {use("allocated"), use("freed"), use("trimmed")};
  }

  std::optional<ProbeRun::Gpu> gpu_of(const JsonPath& at) {
    const auto state = state_of(at);
    if (!state) return std::nullopt;
    ProbeRun::Gpu gpu;
    gpu.state = *state;
    gpu.reason = words_if_any(at, "reason");
    gpu.driver = name_if_any(at, "driver");
    gpu.name = name_if_any(at, "name");
    gpu.compute_capability = name_if_any(at, "compute_capability");
    gpu.integrated = take_.flag_if_any(take_.member(at, "integrated"));
    if (const JsonPath kernels = take_.member(at, "kernels"); kernels.is_there()) {
      gpu.kernels = kernels_of(kernels);
    }
    if (const JsonPath start = take_.member(at, "start"); start.is_there()) {
      gpu.start = steps_of(start);
    }
    return gpu;
  }

  void take_probe(const JsonPath& at) {
    ProbeRun::Probe probe;
    probe.kind = name(at, "kind");
    probe.target = name_if_any(at, "target");
    // A state that only later versions know is neither success nor failure: the probe is omitted.
    const auto state = state_of(at);
    if (!state) return;
    const auto same = [&](const ProbeRun::Probe& other) {
      return other.kind == probe.kind && other.target == probe.target;
    };
    if (std::any_of(out_.probes.begin(), out_.probes.end(), same)) {
      ++out_.repeated;
      return;
    }
    probe.state = *state;
    probe.reason = words_if_any(at, "reason");
    probe.failed_step = name_if_any(at, "failed_step");
    probe.failed_bytes = count_or_0(at, "failed_bytes");
    probe.error = name_if_any(at, "error");
    if (const JsonPath size_step = take_.member(at, "warm_up"); size_step.is_there()) {
      probe.warm_up = size_step_of(size_step);
    }
    take_.each_if_any(take_.member(at, "rungs"), kMaxSizeSteps, [&](const JsonPath& size_step) {
      probe.size_steps.push_back(size_step_of(size_step));
    });
    take_.each_if_any(take_.member(at, "ratios"), kMaxRatios, [&](const JsonPath& ratio) {
      probe.ratios.push_back({name(ratio, "ratio"), number_if_any(ratio, "value"),
                              words_if_any(ratio, "expected"), name(ratio, "judgement")});
    });
    if (const JsonPath found = take_.member(at, "bisection"); found.is_there()) {
      probe.bisection = {take_.count(take_.member(found, "largest_bytes")),
                         take_.count(take_.member(found, "limit_bytes")),
                         take_.count(take_.member(found, "tries")), name_if_any(found, "error")};
    }
    if (const JsonPath pool = take_.member(at, "pool"); pool.is_there()) {
      probe.pool = pool_of(pool);
    }
    probe.not_checked = words_if_any(at, "not_checked");
    out_.probes.push_back(std::move(probe));
  }

  JsonTaker take_;
  ProbeRun& out_;
};

}  // namespace

Result<void> parse_probe_run(std::string_view line, ProbeRun& out) {
  out = ProbeRun{};
  const auto json = parse_json(line, {});
  if (!json) return tl::unexpected(json.error());
  return RunTaker(out).take(*json);
}

}  // namespace jetmem
