// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/event/soc.h"

#include <cerrno>

#include "base/root/snapshot.h"
#include "base/text/text.h"

namespace jetmem::kernel_log {
namespace {

struct Name {
  Soc soc;
  std::string_view name;
};
constexpr Name kNames[] = {{Soc::kTegra210, "tegra210"},
                           {Soc::kTegra186, "tegra186"},
                           {Soc::kTegra194, "tegra194"},
                           {Soc::kTegra234, "tegra234"},
                           {Soc::kTegra264, "tegra264"}};

constexpr std::size_t kMaxCompatible = 4096;

// Empty where there is none.
std::string compatible_of(const Root& root, std::string& problem) {
  // The first is a link to the second, which a capture may have in its place.
  for (const std::string_view path :
       {"/proc/device-tree/compatible", "/sys/firmware/devicetree/base/compatible"}) {
    int error = 0;
    const UniqueFd file = root.open_file(path, error);
    ByteBuffer text;
    if (file.valid()) error = read_to_end(file.get(), kMaxCompatible, text);
    if (error == 0 && !text.view().empty()) {
      problem.clear();
      return std::string(text.view());
    }
    const bool is_absent = error == 0 || error == ENOENT || error == ENOTDIR;
    if (!is_absent && problem.empty()) problem = FileText{path, {}, error}.as_error().message;
  }
  return {};
}

}  // namespace

std::string_view soc_name(Soc soc) {
  for (const Name& entry : kNames) {
    if (entry.soc == soc) return entry.name;
  }
  return {};
}

std::optional<Soc> soc_named(std::string_view name) {
  for (const Name& entry : kNames) {
    if (entry.name == name) return entry.soc;
  }
  return std::nullopt;
}

Soc soc_of_compatible(std::string_view compatible) {
  while (!compatible.empty()) {
    std::string_view entry = compatible.substr(0, compatible.find('\0'));
    compatible.remove_prefix(std::min(entry.size() + 1, compatible.size()));
    if (!take_prefix(entry, "nvidia,")) continue;
    if (const std::optional<Soc> soc = soc_named(entry)) return *soc;
  }
  return Soc::kUnknown;
}

SocFound find_soc(const Root& root) {
  SocFound found;
  const std::string compatible = compatible_of(root, found.problem);
  found.soc = soc_of_compatible(compatible);
  found.is_tegra = compatible.find("nvidia,tegra") != std::string::npos;
  return found;
}

Soc soc_of(const Root& root) { return find_soc(root).soc; }

}  // namespace jetmem::kernel_log
