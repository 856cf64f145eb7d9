// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/text/text.h"
#include "collectors/storage.h"
#include "collectors/sysfs/clocks/emc.h"
#include "collectors/sysfs/clocks/files.h"
#include "collectors/sysfs/clocks/power_mode.h"
#include "collectors/sysfs/clocks/source.h"
#include "collectors/sysfs/clocks/values.h"
#include "collectors/sysfs/one_value.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

using namespace clocks;  // NOLINT(google-build-using-namespace)

constexpr std::array<Record, kLeaves> kNoRecords{kNone, kNone, kNone, kNone, kNone, kNone, kNone};

struct RawPolicy {
  std::uint32_t number = 0;
  std::string_view name;  // "policy4"
  std::array<Record, kLeaves> records = kNoRecords;
};

struct RawDevice {
  std::string_view name;
  std::array<Record, kLeaves> records = kNoRecords;
};

class Collector {
 public:
  Collector(const Snapshot& snapshot, Clocks& out)
      : snapshot_(snapshot), out_(out), values_(snapshot, out.absent), emc_(values_, out.emc) {}

  Result<void> run() {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) take(static_cast<Record>(i));
    finish_power_mode();
    {
      Refill<Clocks::Clock> clocks(out_.clocks);
      finish_policies(clocks);
      finish_devices(clocks);
      finish_memory(clocks);
    }
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
    } else if (emc_.take(file, record)) {
      return;
    } else if (file.path == kCompatible) {
      if (contains(file.text, "nvidia,tegra")) emc_.set_tegra();
    } else if (const std::size_t at = rest.find("/devfreq"); at != std::string_view::npos) {
      take_device(rest.substr(at + 8), record);
    } else if (rest.starts_with("/sys/devices/") && rest.ends_with("/load")) {
      if (load_ == kNone || !values_.file(load_).ok()) load_ = record;
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
    const auto is_it = [&](const RawPolicy& policy) { return policy.number == *number; };
    auto* policy = std::find_if(policies_.begin(), policies_.end(), is_it);
    if (policy == policies_.end()) {
      if (policies_.full()) {
        if (leaf == kPolicyLeaves.begin()) values_.missing("beyond_bound");
        return;
      }
      policy = &policies_.add();
      *policy = {*number, name, kNoRecords};
    }
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
    const auto is_it = [&](const RawDevice& device) { return device.name == name; };
    auto* device = std::find_if(devices_.begin(), devices_.end(), is_it);
    if (device == devices_.end()) {
      if (devices_.full()) {
        if (is_first) values_.missing("beyond_bound");
        return;
      }
      device = &devices_.add();
      *device = {name, kNoRecords};
    }
    device->records[static_cast<std::size_t>(leaf - kDeviceLeaves.begin())] = record;
  }

  void finish_policies(Refill<Clocks::Clock>& clocks) {
    constexpr std::uint64_t kKilohertz = 1000;
    std::sort(policies_.begin(), policies_.end(),
              [](const RawPolicy& a, const RawPolicy& b) { return a.number < b.number; });
    for (const RawPolicy& raw : policies_) {
      Clocks::Clock& clock = clocks.add();
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

  void finish_devices(Refill<Clocks::Clock>& clocks) {
    std::sort(devices_.begin(), devices_.end(),
              [](const RawDevice& a, const RawDevice& b) { return a.name < b.name; });
    std::optional<std::size_t> without_load;
    std::size_t gpus = 0;
    auto index = static_cast<std::size_t>(policies_.end() - policies_.begin());
    for (const RawDevice& raw : devices_) {
      Clocks::Clock& clock = clocks.add();
      const std::size_t at = index++;
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
      if (raw.records[kLoad] != kNone) {
        clock.load = values_.ratio(raw.records[kLoad]);
      } else {
        without_load = at;
      }
    }
    // The load of a GPU elsewhere is that of the only one there is.
    if (load_ != kNone && gpus == 1 && without_load) {
      out_.clocks[*without_load].load = values_.ratio(load_);
    }
  }

  Clocks::Domain domain(const RawDevice& raw) const {
    const Record node = raw.records[kOfName];
    return domain_of(raw.name, node == kNone ? std::string_view() : values_.file(node).text);
  }

  void finish_memory(Refill<Clocks::Clock>& clocks) {
    const EmcParser::Rates rates = emc_.finish(!has_memory_clock_);
    if (!rates.now && !rates.min && !rates.hardware_max) return;
    Clocks::Clock& clock = clocks.add();
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
    if (!count) values_.missing(file.ok() ? "malformed" : reason_of_errno(file.error));
    return count;
  }

  void finish_power_mode() {
    const Record status = record_of(kModeStatus);
    if (status == kNone) return;
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
    return kNone;
  }

  const Snapshot& snapshot_;
  Clocks& out_;
  BoundedList<RawPolicy, kMaxPolicies> policies_;
  BoundedList<RawDevice, kMaxDevices> devices_;
  Values values_;
  EmcParser emc_;
  // Of a GPU whose devfreq device has none beside it.
  Record load_ = kNone;
  bool has_memory_clock_ = false;
};

}  // namespace

Result<void> parse_clocks(const Snapshot& snapshot, Clocks& out) {
  out.emc = {};
  out.cpus_online.reset();
  out.cpus_present.reset();
  out.power_mode.reset();
  out.power_mode_name.clear();
  out.absent.reset();
  return Collector(snapshot, out).run();
}

}  // namespace jetmem
