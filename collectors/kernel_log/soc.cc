#include "collectors/kernel_log/soc.h"

#include <unistd.h>

#include <array>

#include "base/text.h"

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

std::string_view compatible_of(const Root& root, std::array<char, kMaxCompatible>& text) {
  // The first is a link to the second, which a capture may have in its place.
  for (const std::string_view path :
       {"/proc/device-tree/compatible", "/sys/firmware/devicetree/base/compatible"}) {
    int error = 0;
    const UniqueFd file = root.open_file(path, error);
    if (!file.valid()) continue;
    const ssize_t n = ::read(file.get(), text.data(), text.size());
    if (n > 0) return {text.data(), static_cast<std::size_t>(n)};
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

Soc soc_of(const Root& root) {
  std::array<char, kMaxCompatible> text;
  return soc_of_compatible(compatible_of(root, text));
}

bool is_tegra(const Root& root) {
  std::array<char, kMaxCompatible> text;
  return compatible_of(root, text).find("nvidia,tegra") != std::string_view::npos;
}

}  // namespace jetmem::kernel_log
