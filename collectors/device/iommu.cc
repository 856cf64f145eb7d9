// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/iommu.h"

#include <algorithm>
#include <cerrno>

#include "base/text/text.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem::device {
namespace {

std::string_view why_not(int error) {
  const Errc code = error > 0 ? errc_of_errno(error) : Errc::kIo;
  if (code == Errc::kAbsent) return "iommu_absent";
  return code == Errc::kDenied ? "iommu_denied" : "iommu_unreadable";
}

}  // namespace

void parse_iommu(const Snapshot& snapshot, Iommu& out, AbsentValues& absent) {
  const FileText file = snapshot.find(kIommuRecord);
  out.why = file.ok() ? std::string_view() : why_not(file.error);
  if (!file.ok()) return;
  out.known = true;
  std::uint64_t malformed = 0;
  std::uint64_t beyond = 0;
  // A last line without its newline was cut.
  const std::string_view whole = file.text.substr(0, file.text.rfind('\n') + 1);
  if (whole.size() < file.text.size()) ++malformed;
  Lines lines(whole);
  std::string_view line;
  while (lines.next(line)) {
    const auto number = take_u64(line);
    if (!number || *number > UINT32_MAX || (!line.empty() && line[0] != ' ')) {
      ++malformed;
      continue;
    }
    const auto group = static_cast<std::uint32_t>(*number);
    auto at = std::find_if(out.groups.begin(), out.groups.end(),
                           [&](const Iommu::Group& known) { return known.number == group; });
    if (at == out.groups.end()) {
      if (out.groups.size() == kMaxIommuGroups) {
        ++beyond;
        continue;
      }
      out.groups.push_back({group, 0});
      at = out.groups.end() - 1;
    }
    if (line.size() < 2) continue;
    if (out.devices.size() == kMaxIommuDevices) {
      ++beyond;
      continue;
    }
    ++at->devices;
    out.devices.push_back({group, std::string(line.substr(1, 96))});
  }
  // Directories are sorted as texts, 10 before 2.
  const auto by_number = [](const Iommu::Group& a, const Iommu::Group& b) {
    return a.number < b.number;
  };
  std::sort(out.groups.begin(), out.groups.end(), by_number);
  const std::uint64_t left_out =
      one_u64(snapshot.find(kIommuLeftOutRecord).text).value_or(0) + beyond;
  if (malformed > 0) absent.add("iommu_malformed", malformed);
  if (left_out > 0) absent.add("iommu_beyond_bound", left_out);
}

}  // namespace jetmem::device
