// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "collectors/sysfs/clocks/engines.h"
#include "collectors/sysfs/clocks/files.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem::clocks {
namespace {

class Walk {
 public:
  explicit Walk(Gatherer& files) : files_(files) {}

  void run() {
    cpus();
    devices();
    left_out_ += gather_engines(files_, scaled_);
    memory();
    power_mode();
    if (left_out_ > 0) files_.note(kLeftOut, left_out_);
  }

 private:
  // Reads a file; one that is not there leaves no record.
  FileText read(std::string_view path) {
    if (!files_.has_room()) {
      ++left_out_;
      return {path, {}, ENOENT};
    }
    return files_.read_if_any(path);
  }
  FileText read(std::string_view folder, std::string_view leaf) {
    path_.assign(folder).append("/").append(leaf);
    return read(path_);
  }

  bool list(std::string_view path) {
    const int error = files_.list(path, names_);
    if (error != 0 && !is_gone(error)) files_.add(path, {}, error);
    return error == 0;
  }

  void cpus() {
    list(kCpufreq);
    std::vector<std::uint32_t> numbers;
    for (const std::string& name : names_) {
      std::string_view rest = name;
      if (!take_prefix(rest, "policy")) continue;
      if (const auto number = small_number(rest)) numbers.push_back(*number);
    }
    std::sort(numbers.begin(), numbers.end());
    if (numbers.size() > kMaxPolicies) {
      left_out_ += numbers.size() - kMaxPolicies;
      numbers.resize(kMaxPolicies);
    }
    for (const std::uint32_t number : numbers) {
      folder_.assign(kCpufreq).append("/policy").append(std::to_string(number));
      for (const std::string_view leaf : kPolicyLeaves) read(folder_, leaf);
    }
  }

  void devices() {
    list(kDevfreq);
    devices_in(kDevfreq);
    scaled_ = names_;
    for (const std::string_view gpu : kGpus) {
      if (has_gpu_) break;
      folder_.assign(gpu).append("/devfreq");
      const std::string parent = folder_;
      if (!list(parent)) continue;
      devices_in(parent);
      has_gpu_ = has_gpu_ || !names_.empty();
    }
    // Thor's GPU has no load at all; NVML tells it.
    if (has_load_) return;
    for (const std::string_view gpu : kGpus) {
      if (read(gpu, "load").ok()) return;
    }
  }

  // Those that names_ has, below `parent`.
  void devices_in(std::string_view parent) {
    if (names_.size() > kMaxDevices) {
      left_out_ += names_.size() - kMaxDevices;
      names_.resize(kMaxDevices);
    }
    for (const std::string& name : names_) {
      folder_.assign(parent).append("/").append(name);
      const FileText node = read(folder_, kDeviceLeaves[kOfName]);
      const bool is_gpu = domain_of(name, node.text) == Clocks::Domain::kGpu;
      for (const Leaf leaf : {kNow, kMin, kMax, kHardwareMax, kGovernor}) {
        read(folder_, kDeviceLeaves[leaf]);
      }
      if (!is_gpu) continue;
      has_gpu_ = true;
      has_load_ = read(folder_, kDeviceLeaves[kLoad]).error != ENOENT || has_load_;
    }
  }

  void memory() {
    read(kCompatible);
    bool has_activity = false;
    for (const EmcFile& file : kEmcFiles) {
      const bool ok = read(file.path).ok();
      has_activity = has_activity || (ok && file.value >= EmcValue::kActivity);
    }
    if (!has_activity) read(kFirmwareActivity.path);
  }

  void power_mode() {
    if (read(kModeStatus).ok()) read(kModeNames);
  }

  Gatherer& files_;
  std::vector<std::string> names_;
  std::vector<std::string> scaled_;  // devices of the devfreq class
  std::string folder_;
  std::string path_;
  std::uint64_t left_out_ = 0;
  bool has_gpu_ = false;
  bool has_load_ = false;
};

Clocks::Domain domain_of_name(std::string_view name) {
  for (const std::string_view gpu : {"gpu", "ga10b", "gv11b", "gp10b", "gm20b", "gk20a"}) {
    if (contains(name, gpu)) return Clocks::Domain::kGpu;
  }
  for (const std::string_view memory : {"bwmgr", "emc", "actmon", "dmc"}) {
    if (contains(name, memory)) return Clocks::Domain::kMemory;
  }
  return Clocks::Domain::kOther;
}

}  // namespace

Clocks::Domain domain_of(std::string_view device, std::string_view node) {
  // Without its NUL the name was cut, and may have said something else.
  const std::size_t end = node.find('\0');
  const auto domain =
      end == std::string_view::npos ? Clocks::Domain::kOther : domain_of_name(node.substr(0, end));
  return domain == Clocks::Domain::kOther ? domain_of_name(device) : domain;
}

void gather(Gatherer& files) { Walk(files).run(); }

}  // namespace jetmem::clocks
