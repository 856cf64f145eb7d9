// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/clocks/engines.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem::clocks {
namespace {

constexpr std::array<std::string_view, 8> kKinds{"nvenc", "msenc", "nvdec", "nvjpg",
                                                 "vic",   "ofa",   "nvdla", "pva"};
constexpr std::size_t kMostDigits = 2;

std::string_view without_number(std::string_view name) {
  while (!name.empty() && is_digit(name.back())) name.remove_suffix(1);
  return name;
}

}  // namespace

std::string EngineName::text() const {
  return std::string(kind) + (number > 0 ? std::to_string(number) : "");
}

std::string_view engine_kind(std::string_view device) {
  const std::size_t dot = device.find('.');
  if (dot == 0 || dot == std::string_view::npos) return {};
  const std::string_view address = device.substr(0, dot);
  if (!std::all_of(address.begin(), address.end(), is_lower_hex)) return {};
  const std::string_view kind = device.substr(dot + 1);
  const std::string_view plain = without_number(kind);
  if (kind.size() > plain.size() + kMostDigits) return {};
  return std::find(kKinds.begin(), kKinds.end(), plain) != kKinds.end() ? kind : std::string_view();
}

std::string clock_of(const EngineName& engine) {
  const std::string_view plain = without_number(engine.kind);
  const std::string number(engine.kind.substr(plain.size()));
  if (plain == "nvdla") return "dla" + number + "_core";
  return plain == "pva" ? "pva" + number + "_vps" : engine.text();
}

std::size_t gather_engines(Gatherer& files, const std::vector<std::string>& scaled) {
  std::vector<std::string> devices;
  const int error = files.list(kPlatform, devices);
  if (error != 0 && !is_gone(error)) files.add(kPlatform, {}, error);
  std::size_t omitted = 0;
  std::vector<std::string_view> kinds;
  for (const std::string& device : devices) {
    const std::string_view kind = engine_kind(device);
    if (kind.empty()) continue;
    const auto number = static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), kind));
    if (kinds.size() == kMaxEngines || !files.has_room()) {
      ++omitted;
      continue;
    }
    kinds.push_back(kind);
    const std::string folder = std::string(kPlatform).append("/").append(device);
    const FileText status = files.read_if_any(folder + "/power/runtime_status");
    // Of an engine that is off nothing else is read: see source.h.
    if (!status.ok() || one_value(status.text) != "active") continue;
    const EngineName engine{kind, number};
    if (files.read_if_any(folder + "/load").error == ENOENT) {
      files.read_if_any(std::string(kActmon) + "/" + engine.text() + "/module0/usage");
    }
    if (std::find(scaled.begin(), scaled.end(), device) == scaled.end()) {
      files.read_if_any(std::string(kDebugClocks) + "/" + clock_of(engine) + "/clk_rate");
    }
  }
  return omitted;
}

}  // namespace jetmem::clocks
