// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/identity.h"

#include <cerrno>

#include "base/text/text.h"
#include "collectors/device/device_tree.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem::device {
namespace {

constexpr std::size_t kMaxText = 96;
constexpr std::size_t kMaxVersion = 200;
constexpr std::size_t kMaxRelease = 16;

// "36.4.4", "4.4": what a release is written with.
std::string_view take_version(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && length < kMaxRelease &&
         (is_digit(text[length]) || text[length] == '.')) {
    ++length;
  }
  while (length > 0 && text[length - 1] == '.') --length;
  if (length == 0 || !is_digit(text[0])) return {};
  return text.substr(0, length);
}

class Reader {
 public:
  Reader(const Snapshot& snapshot, AbsentValues& absent) : snapshot_(snapshot), absent_(absent) {}

  // A file's text; what is not there is no loss, anything else counts.
  std::optional<std::string_view> text(std::string_view path) {
    const FileText file = snapshot_.find(path);
    if (file.ok()) return file.text;
    if (file.error != ENOENT && file.error != ENOTDIR) absent_.add("identity_unreadable");
    return std::nullopt;
  }
  void one_line(std::string_view path, std::size_t most, std::string& out) {
    const auto text = this->text(path);
    if (!text) return;
    const auto value = one_value(*text);
    if (value) {
      out.assign(value->substr(0, most));
    } else {
      malformed();
    }
  }
  // What `parse` finds in a property of the device tree.
  void property(std::string_view name,
                std::optional<std::string_view> (*parse)(std::string_view property),
                std::string& out) {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) {
      const FileText file = snapshot_[i];
      if (in_tree(file.path) != name) continue;
      const auto text = this->text(file.path);
      if (!text) return;
      const auto found = parse(*text);
      if (!found) return malformed();
      out.assign(found->substr(0, kMaxText));
      return;
    }
  }
  void malformed() { absent_.add("identity_malformed"); }

 private:
  const Snapshot& snapshot_;
  AbsentValues& absent_;
};

// "NVIDIA Jetson AGX Thor", and not "NVIDIA NVIDIA Jetson AGX Thor".
void dmi_model(Reader& reader, std::string& out) {
  reader.one_line("/sys/class/dmi/id/sys_vendor", kMaxText, out);
  const auto product = reader.text("/sys/class/dmi/id/product_name");
  if (!product) return;
  const auto name = one_value(*product);
  if (!name) return reader.malformed();
  if (name->substr(0, out.size()) == out) out.clear();
  if (!out.empty()) out.append(" ");
  out.append(*name);
  if (out.size() > kMaxText) out.resize(kMaxText);
}

}  // namespace

void take_l4t_release(std::string_view text, std::string& out) {
  out.clear();
  std::string_view line;
  // Without its newline the line was cut, perhaps within the number.
  if (text.find('\n') == std::string_view::npos || !Lines(text).next(line)) return;
  if (!take_prefix(line, "# R")) return;
  constexpr std::string_view kRevision = ", REVISION: ";
  const std::string_view major = take_version(line);
  const std::size_t at = line.find(kRevision);
  if (major.empty() || at == std::string_view::npos) return;
  const std::string_view revision = take_version(line.substr(at + kRevision.size()));
  if (revision.empty()) return;
  out.assign(major).append(".").append(revision);
}

void take_l4t_of_kernel(std::string_view release, std::string& out) {
  constexpr std::string_view kMark = "-l4t-r";
  out.clear();
  const std::size_t at = release.find(kMark);
  if (at != std::string_view::npos) out.assign(take_version(release.substr(at + kMark.size())));
}

std::optional<std::string_view> soc_among(std::string_view compatible) {
  std::string_view soc;
  bool is_tegra = false;
  while (!compatible.empty()) {
    const auto entry = take_string(compatible);
    if (!entry) return std::nullopt;
    // From the special to the general, so the last is the SoC; but a Tegra may be named before
    // what it is compatible with.
    if (is_tegra) continue;
    soc = *entry;
    is_tegra = soc.substr(0, 12) == "nvidia,tegra";
  }
  return soc.substr(soc.find(',') + 1);  // whole where there is no vendor
}

void parse_identity(const Snapshot& snapshot, Identity& out, AbsentValues& absent) {
  Reader reader(snapshot, absent);
  reader.property("model", first_string, out.model);
  reader.property("compatible", soc_among, out.soc);
  if (out.model.empty()) dmi_model(reader, out.model);
  reader.one_line("/proc/sys/kernel/osrelease", kMaxText, out.kernel);
  reader.one_line("/proc/sys/kernel/version", kMaxVersion, out.kernel_version);
  if (const auto text = reader.text("/etc/nv_tegra_release")) {
    take_l4t_release(*text, out.l4t);
    if (out.l4t.empty()) reader.malformed();
  }
  if (out.l4t.empty()) take_l4t_of_kernel(out.kernel, out.l4t);
}

}  // namespace jetmem::device
