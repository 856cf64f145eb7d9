#include <algorithm>

#include "base/text.h"
#include "collectors/probe/json.h"
#include "collectors/probe/source.h"

namespace jetmem {
namespace {

constexpr std::string_view kSchema = "jetmem-probe/1";

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kLongestWords = 300;
constexpr std::size_t kMaxProbes = 64;
constexpr std::size_t kMaxRungs = 16;
constexpr std::size_t kMaxSteps = 32;
constexpr std::size_t kMaxCalls = 32;
constexpr std::size_t kMaxRatios = 32;
constexpr std::size_t kMaxAbsent = 16;
constexpr double kAbsoluteZero = -274;
// Microseconds that still can be counted in nanoseconds.
constexpr std::uint64_t kLatest = INT64_MAX / 1000;

class RunTaker {
 public:
  explicit RunTaker(ProbeRun& out) : out_(out) {}

  Result<void> take(const Json& json) {
    const JsonPlace run{&json};
    // Before anything else: of another format nothing else need be true.
    const std::string schema = take_.text(take_.member(run, "schema"), kLongestName);
    if (take_.error()) return tl::unexpected(*take_.error());
    if (schema != kSchema) {
      return fail(Errc::kMalformed,
                  "expected schema " + std::string(kSchema) + ", found \"" + schema + '"');
    }
    out_.version = take_.text(take_.member(run, "version"), kLongestName);
    out_.pid = take_.count(take_.member(run, "pid"));
    const JsonPlace started = take_.member(run, "started");
    out_.started_boot = moment(take_.member(started, "boot_microseconds"));
    out_.started_wall = moment(take_.member(started, "wall_microseconds"));
    out_.seconds = take_.number(take_.member(run, "seconds"));
    out_.frame_bytes = take_.count(take_.member(run, "frame_bytes"));
    const JsonPlace conditions = take_.member(run, "conditions");
    out_.before = conditions_of(take_.member(conditions, "before"));
    out_.after = conditions_of(take_.member(conditions, "after"));
    const JsonPlace gpu = take_.member(run, "gpu");
    out_.has_gpu = gpu.is_there();
    if (out_.has_gpu) take_gpu(gpu);
    take_.each(take_.member(run, "probes"), kMaxProbes,
               [&](const JsonPlace& probe) { take_probe(probe); });
    if (take_.error()) return tl::unexpected(*take_.error());
    return {};
  }

 private:
  std::string name(const JsonPlace& object, std::string_view member) {
    return take_.text(take_.member(object, member), kLongestName);
  }
  std::string name_if_any(const JsonPlace& object, std::string_view member) {
    return take_.text_if_any(take_.member(object, member), kLongestName);
  }
  std::string words_if_any(const JsonPlace& object, std::string_view member) {
    return take_.text_if_any(take_.member(object, member), kLongestWords);
  }
  std::optional<double> number_if_any(const JsonPlace& object, std::string_view member) {
    return take_.number_if_any(take_.member(object, member));
  }
  std::uint64_t count_or_0(const JsonPlace& object, std::string_view member) {
    return take_.count_if_any(take_.member(object, member)).value_or(0);
  }
  Nanoseconds moment(const JsonPlace& at) {
    return std::chrono::microseconds(take_.count(at, kLatest));
  }

  ProbeRun::Conditions conditions_of(const JsonPlace& at) {
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
        take_.member(at, "absent"), kMaxAbsent, [&](std::string_view what, const JsonPlace& why) {
          out.absent.emplace_back(printable(what, kLongestName), take_.text(why, kLongestWords));
        });
    return out;
  }

  std::vector<ProbeRun::Step> steps_of(const JsonPlace& list) {
    std::vector<ProbeRun::Step> out;
    // What is read stays for minutes: no room that nobody uses.
    if (list.is_there()) out.reserve(std::min(list.value->size(), kMaxSteps));
    take_.each(list, kMaxSteps, [&](const JsonPlace& at) {
      ProbeRun::Step& step = out.emplace_back();
      step.step = name(at, "step");
      step.seconds = take_.number(take_.member(at, "seconds"));
      step.bytes_per_second = number_if_any(at, "bytes_per_second");
      // A program that tells more of them is not wrong: what it measured still counts.
      take_.each_if_any(take_.member(at, "calls"), SIZE_MAX, [&](const JsonPlace& call) {
        if (step.calls.size() == kMaxCalls) {
          ++out_.calls_left_out;
          return;
        }
        step.calls.push_back({name(call, "call"), name(call, "result")});
      });
    });
    return out;
  }

  ProbeRun::Rung rung_of(const JsonPlace& at) {
    ProbeRun::Rung out;
    out.bytes = take_.count(take_.member(at, "bytes"));
    out.mismatches = take_.count_if_any(take_.member(at, "mismatches"));
    out.steps = steps_of(take_.member(at, "steps"));
    return out;
  }

  std::optional<ProbeState> state_of(const JsonPlace& object) {
    const std::string text = name(object, "state");
    for (std::size_t i = 0; i < kProbeStates; ++i) {
      const auto state = static_cast<ProbeState>(i);
      if (text == probe_state_name(state)) return state;
    }
    if (!take_.error()) ++out_.unknown_states;
    return std::nullopt;
  }

  void take_gpu(const JsonPlace& at) {
    const auto state = state_of(at);
    if (!state) return;
    ProbeRun::Gpu gpu;
    gpu.state = *state;
    gpu.reason = words_if_any(at, "reason");
    gpu.built_with = name_if_any(at, "built_with");
    gpu.driver = name_if_any(at, "driver");
    gpu.name = name_if_any(at, "name");
    gpu.compute_capability = name_if_any(at, "compute_capability");
    gpu.integrated = take_.flag_if_any(take_.member(at, "integrated"));
    if (const JsonPlace start = take_.member(at, "start"); start.is_there()) {
      gpu.start = steps_of(start);
    }
    out_.gpu = std::move(gpu);
  }

  void take_probe(const JsonPlace& at) {
    ProbeRun::Probe probe;
    probe.kind = name(at, "kind");
    probe.target = name_if_any(at, "target");
    // A state that only later versions know is neither success nor failure: the probe is left out.
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
    if (const JsonPlace rung = take_.member(at, "warm_up"); rung.is_there()) {
      probe.warm_up = rung_of(rung);
    }
    take_.each_if_any(take_.member(at, "rungs"), kMaxRungs,
                      [&](const JsonPlace& rung) { probe.rungs.push_back(rung_of(rung)); });
    take_.each_if_any(take_.member(at, "ratios"), kMaxRatios, [&](const JsonPlace& ratio) {
      probe.ratios.push_back({name(ratio, "ratio"), number_if_any(ratio, "value"),
                              words_if_any(ratio, "expected"), name(ratio, "judgement")});
    });
    if (const JsonPlace found = take_.member(at, "bisection"); found.is_there()) {
      probe.bisection = {take_.count(take_.member(found, "largest_bytes")),
                         take_.count(take_.member(found, "limit_bytes")),
                         take_.count(take_.member(found, "tries")), name_if_any(found, "error")};
    }
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
