// SPDX-License-Identifier: Apache-2.0
#include "probes/program/conditions.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "probes/program/run.h"
#include "probes/program/small_file.h"

namespace jetmem::probe {
namespace {

constexpr std::size_t kMaxEntries = 1024;
constexpr std::size_t kMaxRead = 64;  // of policies, devices, zones
constexpr std::size_t kLongestType = 64;
// Above it stands for "none" or for nonsense.
constexpr std::uint64_t kNoClock = 1'000'000'000'000;

// Where the class has no GPU: L4T 28 to 35.
const char* const kGpuFolders[] = {
    "/sys/devices/gpu.0",
    "/sys/devices/57000000.gpu",
    "/sys/devices/17000000.gp10b",
    "/sys/devices/17000000.gv11b",
    "/sys/devices/17000000.ga10b",
    "/sys/devices/platform/17000000.gv11b",
    "/sys/devices/platform/17000000.ga10b",
    "/sys/devices/platform/17000000.gpu",
};
const char* const kEmcFiles[] = {
    "/sys/kernel/debug/bpmp/debug/clk/emc/rate",
    "/sys/kernel/debug/clk/emc/clk_rate",
    "/sys/kernel/debug/clk/override.emc/clk_rate",
};

// The sorted names that begin so; none where there is no such folder.
std::vector<std::string> names_in(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  if (!entries) return names;
  for (std::size_t i = 0; i < kMaxEntries; ++i) {
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name[0] != '.' && name.compare(0, prefix.size(), prefix) == 0) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A clock, or why it is none.
FileNumber clock_in(const std::string& path) {
  FileNumber clock = number_in(path);
  if (clock.number && (*clock.number == 0 || *clock.number > kNoClock)) {
    clock = {std::nullopt, 0, "found " + std::to_string(*clock.number) + ", which is no clock"};
  }
  if (!clock.number) clock.why = path + ": " + clock.why;
  return clock;
}

bool is_gpu(const std::string& name) {
  for (const char* gpu : {"gpu", "ga10b", "gv11b", "gp10b", "gm20b", "gk20a"}) {
    if (name.find(gpu) != std::string::npos) return true;
  }
  return false;
}

class Reader {
 public:
  explicit Reader(std::string root) : root_(std::move(root)) {}

  Conditions read() {
    cpu();
    gpu();
    emc();
    thermal();
    power_mode();
    return std::move(out_);
  }

 private:
  // Without the tests' root, as the machine has them.
  std::string without_root(const std::string& why) const {
    return why.compare(0, root_.size(), root_) == 0 ? why.substr(root_.size()) : why;
  }
  // Those that are looked at.
  std::vector<std::string> some_of(std::vector<std::string> names, const char* what) {
    if (names.size() > kMaxRead) {
      out_.absent[what] =
          "only " + std::to_string(kMaxRead) + " of " + std::to_string(names.size()) + " were read";
      names.resize(kMaxRead);
    }
    return names;
  }
  void missing(const char* what, const std::string& why) { out_.absent[what] = without_root(why); }

  void cpu() {
    const std::string folder = root_ + "/sys/devices/system/cpu/cpufreq";
    std::string why = folder + ": no policy in it";
    for (const std::string& policy : some_of(names_in(folder, "policy"), "cpu_policies")) {
      // EBUSY where its CPUs are off.
      const FileNumber kilohertz = clock_in(folder + "/" + policy + "/scaling_cur_freq");
      if (!kilohertz.number || *kilohertz.number > kNoClock / 1000) {
        why = kilohertz.why;
        continue;
      }
      const std::uint64_t hertz = *kilohertz.number * 1000;
      out_.cpu_min_hertz = std::min(out_.cpu_min_hertz.value_or(hertz), hertz);
      out_.cpu_max_hertz = std::max(out_.cpu_max_hertz.value_or(hertz), hertz);
    }
    if (out_.cpu_min_hertz) return;
    missing("cpu_min_hertz", why);
    missing("cpu_max_hertz", why);
  }

  void gpu() {
    const std::string folder = root_ + "/sys/class/devfreq";
    std::string why = "no devfreq device is a GPU";
    for (const std::string& name : some_of(names_in(folder, ""), "devices")) {
      const FileText node = read_small_file(folder + "/" + name + "/device/of_node/name");
      if (is_gpu(name) || is_gpu(node.text)) gpu_clock(folder + "/" + name, why);
    }
    for (const char* gpu : kGpuFolders) {
      if (out_.gpu_hertz) break;
      const std::string devices = root_ + gpu + "/devfreq";
      for (const std::string& name : some_of(names_in(devices, ""), "devices")) {
        gpu_clock(devices + "/" + name, why);
      }
    }
    if (!out_.gpu_hertz) missing("gpu_hertz", why);
  }
  // Of several, as on Thor, the fastest: it is the one that computes.
  void gpu_clock(const std::string& device, std::string& why) {
    const FileNumber hertz = clock_in(device + "/cur_freq");
    if (hertz.number) {
      out_.gpu_hertz = std::max(out_.gpu_hertz.value_or(0), *hertz.number);
    } else {
      why = hertz.why;
    }
  }

  void emc() {
    const std::string folder = root_ + "/sys/class/devfreq";
    std::string why = "no file here has the memory's clock";
    for (const std::string& name : some_of(names_in(folder, "bwmgr"), "devices")) {
      if (emc_clock(folder + "/" + name + "/cur_freq", why)) return;
    }
    for (const char* file : kEmcFiles) {
      if (emc_clock(root_ + file, why)) return;
    }
    missing("emc_hertz", why);
  }
  bool emc_clock(const std::string& path, std::string& why) {
    const FileNumber hertz = clock_in(path);
    if (hertz.error == ENOENT || hertz.error == ENOTDIR) return false;
    out_.emc_hertz = hertz.number;
    const bool is_denied = hertz.error == EACCES || hertz.error == EPERM;
    why = hertz.why + (is_denied ? ": only root may read debugfs" : "");
    return hertz.number.has_value();
  }

  void thermal() {
    const std::string folder = root_ + "/sys/class/thermal";
    std::string why = "no thermal zone";
    for (const std::string& zone : some_of(names_in(folder, "thermal_zone"), "thermal_zones")) {
      const std::string path = folder + "/" + zone;
      const std::string type = read_small_file(path + "/type").text.substr(0, kLongestType);
      // EAGAIN and its like: what the zone is in is powered off.
      const FileText temp = read_small_file(path + "/temp");
      const bool is_negative = !temp.text.empty() && temp.text[0] == '-';
      const auto digits = parse_digits(temp.text.substr(is_negative ? 1 : 0));
      if (!digits || is_placeholder(type, is_negative, *digits)) {
        why = path + "/temp: " +
              (temp.error != 0 ? errno_name(temp.error)
                               : "no temperature: " + temp.text.substr(0, 40));
        continue;
      }
      const double celsius = (is_negative ? -1e-3 : 1e-3) * static_cast<double>(*digits);
      if (out_.temperature_celsius && *out_.temperature_celsius >= celsius) continue;
      out_.temperature_celsius = celsius;
      out_.hottest_zone = type.empty() ? zone : type;
    }
    if (!out_.temperature_celsius) missing("temperature_celsius", why);
  }
  // -256 degrees is one driver's "off"; the Nano's power unit always has 50 or 100.
  static bool is_placeholder(const std::string& type, bool is_negative, std::uint64_t thousandths) {
    if (thousandths > (is_negative ? 200'000U : 1'000'000U)) return true;
    return type == "PMIC-Die" && (thousandths == 50'000 || thousandths == 100'000);
  }

  void power_mode() {
    const std::string path = "/var/lib/nvpmodel/status";
    const FileText file = read_small_file(root_ + path);
    const std::string name = "pmode:";
    if (file.error != 0) {
      missing("power_mode",
              file.error == ENOENT ? "no " + path : path + ": " + errno_name(file.error));
      return;
    }
    // "pmode:0002", and perhaps more words.
    const bool is_it = file.text.compare(0, name.size(), name) == 0;
    const std::string rest = is_it ? file.text.substr(name.size()) : "";
    const std::string digits = rest.substr(0, rest.find_first_of(" \t\n"));
    // Four of them at least, so that a cut one shows.
    if (digits.size() >= 4) out_.power_mode = parse_digits(digits);
    if (!out_.power_mode) {
      missing("power_mode",
              path + ": expected \"pmode:0002\", found \"" + file.text.substr(0, 40) + "\"");
    }
  }

  const std::string root_;
  Conditions out_;
};

}  // namespace

Conditions read_conditions(const std::string& root) { return Reader(root).read(); }

}  // namespace jetmem::probe
