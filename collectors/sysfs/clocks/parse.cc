// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/text/text.h"
#include "collectors/storage.h"
#include "collectors/sysfs/clocks/engines.h"
#include "collectors/sysfs/clocks/files.h"
#include "collectors/sysfs/clocks/power_mode.h"
#include "collectors/sysfs/clocks/source.h"
#include "collectors/sysfs/sysfs_text.h"
#include "collectors/sysfs/values.h"

namespace jetmem {
namespace {

using namespace clocks;  // NOLINT(google-build-using-namespace)

constexpr std::array<Record, kLeaves> kNoRecords{kNoRecord, kNoRecord, kNoRecord, kNoRecord,
                                                 kNoRecord, kNoRecord, kNoRecord};

struct RawPolicy {
  std::uint32_t number = 0;
  std::string_view name;  // "policy4"
  std::array<Record, kLeaves> records = kNoRecords;
};

struct RawClock {
  std::string_view name;
  std::array<Record, kLeaves> records = kNoRecords;
};

struct RawEngine {
  std::string_view device;  // "15380000.nvjpg"
  EngineName name;
  Record status = kNoRecord;
  Record load = kNoRecord;
  Record clock = kNoRecord;
};

// The memory's clock and activity, from whichever files this kernel has.
class EmcParser {
 public:
  EmcParser(Values& values, Clocks::Emc& out) : values_(values), out_(out) {}

  // Whether the file is one of the memory's.
  bool take(const FileText& file, Record record);
  // Only a Tegra has an EMC: elsewhere its files are not missed, and debugfs not being readable
  // says nothing of them.
  void set_tegra() { is_tegra_ = true; }

  // After all files. Not expected where a devfreq device tells the memory's clock (Thor).
  struct Rates {
    std::optional<std::uint64_t> now;
    std::optional<std::uint64_t> min;
    std::optional<std::uint64_t> hardware_max;
  };
  Rates finish(bool clock_expected);

 private:
  // The first of a value's files that gave one; else the last that did not.
  struct Raw {
    Record record = kNoRecord;
    std::optional<std::uint64_t> value;
  };
  std::optional<std::uint64_t> value(EmcValue which, bool is_expected);
  void finish_activity(std::uint64_t kilohertz, const std::optional<std::uint64_t>& rate);

  Values& values_;
  Clocks::Emc& out_;
  std::array<Raw, 8> raw_{};
  bool is_tegra_ = false;
};

bool EmcParser::take(const FileText& file, Record record) {
  const auto is_it = [&](const EmcFile& emc) { return emc.path == file.path; };
  const auto* found = std::find_if(kEmcFiles.begin(), kEmcFiles.end(), is_it);
  if (found == kEmcFiles.end()) found = &kFirmwareActivity;
  if (!is_it(*found)) return false;
  if (found->value == EmcValue::kCap) is_tegra_ = true;
  Raw& raw = raw_[static_cast<std::size_t>(found->value)];
  if (raw.value) return true;
  raw.record = record;
  if (file.ok()) raw.value = one_u64(file.text);
  return true;
}

std::optional<std::uint64_t> EmcParser::value(EmcValue which, bool is_expected) {
  const Raw& raw = raw_[static_cast<std::size_t>(which)];
  if (raw.value && *raw.value <= kNoClock) {
    values_.found();
    return raw.value;
  }
  if (raw.value) {
    values_.missing("placeholder");
  } else if (raw.record == kNoRecord) {
    if (is_expected && is_tegra_) values_.missing("debugfs_absent");
  } else if (const FileText file = values_.file(raw.record); file.ok()) {
    values_.missing(raw.record);
  } else if (is_tegra_) {
    const bool denied_debugfs =
        is_denied(file.error) && file.path.starts_with("/sys/kernel/debug/");
    if (!denied_debugfs) {
      values_.missing(raw.record);
    } else if (is_expected) {
      // Where it is not, nobody knows whether it is there.
      values_.missing("debugfs_denied", raw.record);
    }
  }
  return std::nullopt;
}

EmcParser::Rates EmcParser::finish(bool clock_expected) {
  const Rates rates{value(EmcValue::kRate, clock_expected), value(EmcValue::kMin, clock_expected),
                    value(EmcValue::kMax, clock_expected)};
  const auto locked = value(EmcValue::kLocked, false);
  const auto cap = value(EmcValue::kCap, false);
  out_.raw[0] = value(EmcValue::kRaw0, false);
  out_.raw[1] = value(EmcValue::kRaw1, false);
  const auto activity = value(EmcValue::kActivity, !out_.raw[0] && !out_.raw[1]);

  if (locked && *locked <= 1) {
    out_.locked = *locked == 1;
  } else if (locked) {
    values_.missing("malformed");
  }
  if (cap && *cap > 0) out_.cap = cap;
  if (activity) finish_activity(*activity, rates.now);
  return rates;
}

void EmcParser::finish_activity(std::uint64_t kilohertz, const std::optional<std::uint64_t>& rate) {
  if (kilohertz > kNoClock / 1000) {
    values_.missing("placeholder");
    return;
  }
  const std::uint64_t hertz = kilohertz * 1000;
  out_.activity = hertz;
  if (!rate) return;
  // An average against the clock of this moment: after a step down it may exceed it.
  if (hertz <= *rate && *rate > 0) {
    out_.utilization = static_cast<double>(hertz) / static_cast<double>(*rate);
  } else {
    values_.missing("inconsistent");
  }
}

class ClockCollector {
 public:
  ClockCollector(const Snapshot& snapshot, Clocks& out)
      : snapshot_(snapshot),
        out_(out),
        values_(snapshot, out.absent, reason_of),
        emc_(values_, out.emc) {}

  Result<void> run() {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) take(static_cast<Record>(i));
    finish_power_mode();
    finish_policies();
    finish_devices();
    finish_memory();
    finish_engines();
    if (values_.any()) {
      out_.cpus_online = cpu_count(kOnline);
      out_.cpus_present = cpu_count(kPresent);
      return {};
    }
    if (auto error = values_.error()) return tl::unexpected(std::move(*error));
    return fail(Errc::kAbsent,
                "neither cpufreq nor devfreq nor a power mode of nvpmodel on this machine");
  }

 private:
  void take(Record record) {
    const FileText file = values_.file(record);
    std::string_view rest = file.path;
    if (take_prefix(rest, "jetmem:")) {
      const auto left_out = one_u64(file.text);
      if (rest == kLeftOut && left_out) values_.missing("beyond_bound", *left_out);
    } else if (take_prefix(rest, kCpufreq)) {
      take_policy(rest, record);
    } else if (emc_.take(file, record) || take_engine_file(file.path, record)) {
      return;
    } else if (file.path == kCompatible) {
      if (contains(file.text, "nvidia,tegra")) emc_.set_tegra();
    } else if (const std::size_t at = rest.find("/devfreq"); at != std::string_view::npos) {
      take_device(rest.substr(at + 8), record);
    } else if (rest.starts_with("/sys/devices/") && rest.ends_with("/load")) {
      if (load_ == kNoRecord || !values_.file(load_).ok()) load_ = record;
    }
  }

  void take_policy(std::string_view rest, Record record) {
    // The folder itself is here only when it could not be listed.
    if (rest.empty()) return values_.missing(record);
    if (!take_prefix(rest, "/")) return;
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (!name.starts_with("policy") || name.size() == rest.size()) return;
    const auto number = small_number(name.substr(6));
    const auto leaf =
        std::find(kPolicyLeaves.begin(), kPolicyLeaves.end(), rest.substr(name.size() + 1));
    if (!number || leaf == kPolicyLeaves.end()) return;
    RawPolicy* const policy = policies_.find_or_add(&RawPolicy::number, *number);
    if (policy == nullptr) {
      if (leaf == kPolicyLeaves.begin()) values_.missing("beyond_bound");
      return;
    }
    policy->name = name;
    policy->records[static_cast<std::size_t>(leaf - kPolicyLeaves.begin())] = record;
  }

  void take_device(std::string_view rest, Record record) {
    if (rest.empty()) return values_.missing(record);
    if (!take_prefix(rest, "/")) return;
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (name.size() == rest.size()) return;
    const auto leaf =
        std::find(kDeviceLeaves.begin(), kDeviceLeaves.end(), rest.substr(name.size() + 1));
    if (leaf == kDeviceLeaves.end()) return;
    const bool is_first = leaf == kDeviceLeaves.begin();
    if (!is_name(name)) {
      if (is_first) values_.missing("malformed", record);
      return;
    }
    RawClock* const device = devices_.find_or_add(&RawClock::name, name);
    if (device == nullptr) {
      if (is_first) values_.missing("beyond_bound");
      return;
    }
    device->records[static_cast<std::size_t>(leaf - kDeviceLeaves.begin())] = record;
  }

  // Whether the file is one of an engine's.
  bool take_engine_file(std::string_view rest, Record record) {
    if (take_prefix(rest, kPlatform)) {
      take_engine(rest, record);
      return true;
    }
    const bool is_usage = take_prefix(rest, kActmon);
    if (!is_usage && !take_prefix(rest, kDebugClocks)) return false;
    if (!take_prefix(rest, "/")) return true;
    const std::string_view name = rest.substr(0, rest.find('/'));
    const std::string_view leaf = rest.substr(name.size());
    if (leaf != (is_usage ? "/module0/usage" : "/clk_rate")) return true;
    for (RawEngine& engine : engines_) {
      const std::string own = is_usage ? engine.name.text() : clock_of(engine.name);
      if (own == name) (is_usage ? engine.load : engine.clock) = record;
    }
    return true;
  }

  void take_engine(std::string_view rest, Record record) {
    if (rest.empty()) return values_.missing(record);
    if (!take_prefix(rest, "/")) return;
    const std::string_view device = rest.substr(0, rest.find('/'));
    const std::string_view kind = engine_kind(device);
    const std::string_view leaf = rest.substr(device.size());
    if (kind.empty() || (leaf != "/power/runtime_status" && leaf != "/load")) return;
    const RawEngine* const before = engines_.end();
    RawEngine* const engine = engines_.find_or_add(&RawEngine::device, device);
    if (engine == nullptr) {
      values_.missing("beyond_bound");
      return;
    }
    if (engines_.end() != before) {
      engine->name = {kind, 0};
      for (const RawEngine& other : engines_) {
        if (&other != engine && other.name.kind == kind) ++engine->name.number;
      }
    }
    (leaf == "/load" ? engine->load : engine->status) = record;
  }

  void finish_engines() {
    for (const RawEngine& raw : engines_) {
      if (raw.status == kNoRecord) continue;
      Clocks::Engine& engine = out_.engines.emplace_back();
      engine.name = raw.name.text();
      for (char& c : engine.name) {
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
      }
      engine.on = is_on(raw.status);
      if (engine.on != true) continue;
      engine.load = load_of(raw);
      engine.clock = clock_of_engine(raw);
    }
  }

  std::optional<bool> is_on(Record record) {
    const std::string_view status = values_.name(record);
    if (status.empty()) return std::nullopt;  // counted
    if (status == "active" || status == "suspended") {
      values_.found();
      return status == "active";
    }
    if (status == "suspending" || status == "resuming") {
      values_.found();  // nothing is wrong with the file
      values_.missing("changing_power");
      return std::nullopt;
    }
    values_.missing(status == "unsupported" ? "no_runtime_pm" : "malformed", record);
    return std::nullopt;
  }

  std::optional<double> load_of(const RawEngine& raw) {
    if (raw.load == kNoRecord) {
      values_.missing("no_load_counter");
      return std::nullopt;
    }
    const FileText file = values_.file(raw.load);
    if (is_denied(file.error) && file.path.starts_with(kActmon)) {
      // Where it is not readable, nobody knows whether this engine has one.
      values_.missing("debugfs_denied", raw.load);
      return std::nullopt;
    }
    return values_.ratio(raw.load);
  }

  std::optional<std::uint64_t> clock_of_engine(const RawEngine& raw) {
    // What is wrong with devfreq's was counted with the clock itself.
    for (const RawClock& device : devices_) {
      if (device.name != raw.device || device.records[kNow] == kNoRecord) continue;
      const FileText file = values_.file(device.records[kNow]);
      const auto hertz = file.ok() ? one_u64(file.text) : std::nullopt;
      return hertz && *hertz <= kNoClock ? hertz : std::nullopt;
    }
    if (raw.clock != kNoRecord && is_denied(values_.file(raw.clock).error)) {
      values_.missing("debugfs_denied", raw.clock);
      return std::nullopt;
    }
    return values_.hertz(raw.clock, 1, Values::Zero::kIsClock);
  }

  void finish_policies() {
    constexpr std::uint64_t kKilohertz = 1000;
    policies_.sort_by(&RawPolicy::number);
    for (const RawPolicy& raw : policies_) {
      Clocks::Clock& clock = out_.clocks.emplace_back();
      clock.domain = Clocks::Domain::kCpu;
      clock.name = raw.name;
      clock.now = values_.hertz(raw.records[kNow], kKilohertz, Values::Zero::kIsClock);
      clock.min = values_.hertz(raw.records[kMin], kKilohertz, Values::Zero::kIsClock);
      clock.max = values_.hertz(raw.records[kMax], kKilohertz, Values::Zero::kIsNoLimit);
      clock.hardware_max =
          values_.hertz(raw.records[kHardwareMax], kKilohertz, Values::Zero::kIsNoLimit);
      clock.governor = values_.name(raw.records[kGovernor]);
    }
  }

  void finish_devices() {
    devices_.sort_by(&RawClock::name);
    std::optional<std::size_t> without_load;
    std::size_t gpus = 0;
    for (const RawClock& raw : devices_) {
      Clocks::Clock& clock = out_.clocks.emplace_back();
      clock.name = raw.name;
      clock.domain = domain(raw);
      clock.now = values_.hertz(raw.records[kNow], 1, Values::Zero::kIsClock);
      clock.min = values_.hertz(raw.records[kMin], 1, Values::Zero::kIsClock);
      clock.max = values_.hertz(raw.records[kMax], 1, Values::Zero::kIsNoLimit);
      clock.hardware_max = values_.highest(raw.records[kHardwareMax]);
      clock.governor = values_.name(raw.records[kGovernor]);
      has_memory_clock_ =
          has_memory_clock_ || (clock.domain == Clocks::Domain::kMemory && clock.now.has_value());
      if (clock.domain != Clocks::Domain::kGpu) continue;
      ++gpus;
      if (raw.records[kLoad] != kNoRecord) {
        clock.load = values_.ratio(raw.records[kLoad]);
      } else {
        without_load = out_.clocks.size() - 1;
      }
    }
    // The load of a GPU elsewhere is that of the only one there is.
    if (load_ != kNoRecord && gpus == 1 && without_load) {
      out_.clocks[*without_load].load = values_.ratio(load_);
    }
  }

  Clocks::Domain domain(const RawClock& raw) const {
    const Record node = raw.records[kOfName];
    return domain_of(raw.name, node == kNoRecord ? std::string_view() : values_.file(node).text);
  }

  void finish_memory() {
    const EmcParser::Rates rates = emc_.finish(!has_memory_clock_);
    if (!rates.now && !rates.min && !rates.hardware_max) return;
    Clocks::Clock& clock = out_.clocks.emplace_back();
    clock.domain = Clocks::Domain::kMemory;
    clock.name = "emc";
    clock.now = rates.now;
    clock.min = rates.min;
    // What the power mode allows of it is the cap.
    if (rates.hardware_max != 0U) clock.hardware_max = rates.hardware_max;
  }

  std::optional<std::uint64_t> cpu_count(std::string_view path) {
    const FileText file = snapshot_.find(path);
    if (is_gone(file.error)) return std::nullopt;
    const auto count = file.ok() ? count_of_cpus(file.text) : std::nullopt;
    if (!count) values_.missing(reason_of(file));
    return count;
  }

  void finish_power_mode() {
    const Record status = record_of(kModeStatus);
    if (status == kNoRecord) return;
    emc_.set_tegra();
    const FileText file = values_.file(status);
    out_.power_mode = file.ok() ? power_mode_of(file.text) : std::nullopt;
    if (!out_.power_mode) {
      values_.missing(status);
      return;
    }
    values_.found();
    const FileText names = snapshot_.find(kModeNames);
    if (!names.ok()) {
      values_.missing(is_gone(names.error) ? "name_unknown" : reason_of_errno(names.error));
      return;
    }
    const std::string_view name = power_mode_name(names.text, *out_.power_mode);
    if (name.empty()) values_.missing("name_unknown");
    out_.power_mode_name = name;
  }

  Record record_of(std::string_view path) const {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) {
      if (snapshot_[i].path == path) return static_cast<Record>(i);
    }
    return kNoRecord;
  }

  const Snapshot& snapshot_;
  Clocks& out_;
  BoundedList<RawPolicy, kMaxPolicies> policies_;
  BoundedList<RawClock, kMaxDevices> devices_;
  BoundedList<RawEngine, kMaxEngines> engines_;
  Values values_;
  EmcParser emc_;
  // Of a GPU whose devfreq device has none beside it.
  Record load_ = kNoRecord;
  bool has_memory_clock_ = false;
};

}  // namespace

Result<void> parse_clocks(const Snapshot& snapshot, Clocks& out) {
  out = {};
  return ClockCollector(snapshot, out).run();
}

}  // namespace jetmem
