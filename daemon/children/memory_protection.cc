// SPDX-License-Identifier: Apache-2.0
#include "daemon/children/memory_protection.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <initializer_list>
#include <limits>

#include "base/root/small_file.h"
#include "base/text/text.h"
#include "base/unique_fd.h"
#include "daemon/children/own_cgroup.h"

namespace jetmem {
namespace {

constexpr std::string_view kFirstCgroupVersion = "cgroup_v1";
constexpr std::string_view kNoController = "no_memory_controller";
constexpr std::string_view kHidden = "hidden";
constexpr std::string_view kUnreadable = "unreadable";

constexpr std::array kProtectionMetrics{
    gauge("jetmem_daemon_memory_low_bytes",
          "Memory of jetmemd that the kernel reclaims last: the least memory.low of its cgroup and "
          "of the cgroups above it that it can see. At most so much is protected. 0: none is. "
          "Absent where jetmem_daemon_memory_low_absent has a reason."),
    gauge("jetmem_daemon_memory_low_absent",
          "1 for the reason why jetmem_daemon_memory_low_bytes is absent. cgroup_v1: the memory "
          "controller belongs to cgroup version 1, which has no memory.low (default of Ubuntu "
          "20.04); no_memory_controller: the kernel does not count memory per cgroup "
          "(cgroup_disable=memory); hidden: jetmemd's cgroup is not visible, as in some "
          "containers; unreadable: a file of it could not be read.",
          {"reason"}, 4),
};
enum ProtectionMetric { kLow, kAbsent };

// One path at a time, in place.
class PathBuffer {
 public:
  // Empty when it does not fit: no file has that name.
  const char* join(std::initializer_list<std::string_view> parts) {
    std::size_t size = 0;
    for (const std::string_view part : parts) {
      if (part.size() >= sizeof buffer_ - size) return "";
      size += part.copy(buffer_ + size, part.size());
    }
    buffer_[size] = '\0';
    return buffer_;
  }

 private:
  char buffer_[PATH_MAX];
};

bool has_word(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" \n");
    if (text.substr(0, end) == word) return true;
    text.remove_prefix(std::min(end, text.size() - 1) + 1);
  }
  return false;
}

enum class LowFile { kRead, kNone, kNoDirectory, kFailed };

LowFile read_low(PathBuffer& paths, std::string_view root, std::string_view mount,
                 std::string_view path, double& low) {
  const UniqueFd fd(::open(paths.join({root, mount, path, "/memory.low"}), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno != ENOENT) return LowFile::kFailed;
    return ::access(paths.join({root, mount, path, "/"}), F_OK) == 0 ? LowFile::kNone
                                                                     : LowFile::kNoDirectory;
  }
  char buffer[32];
  const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
  if (n <= 0) return LowFile::kFailed;
  std::string_view text(buffer, static_cast<std::size_t>(n));
  text = text.substr(0, text.find('\n'));
  if (text == "max") {
    low = std::numeric_limits<double>::infinity();
    return LowFile::kRead;
  }
  const auto number = parse_u64(text);
  if (!number) return LowFile::kFailed;
  low = static_cast<double>(*number);
  return LowFile::kRead;
}

MemoryProtection absent(std::string_view reason) { return {std::nullopt, reason}; }

}  // namespace

MemoryProtection read_memory_protection(const std::string& root) {
  PathBuffer paths;
  char text[8192];
  const std::string_view own = read_once(paths.join({root, "/proc/self/cgroup"}), text);
  if (own.empty() || own.size() == sizeof text) return absent(kUnreadable);
  const OwnCgroup cgroup = parse_own_cgroup(own);
  if (cgroup.first_version) return absent(kFirstCgroupVersion);
  if (cgroup.path.empty()) return absent(kNoController);
  // "/../.." is what a process outside its cgroup namespace sees.
  if (cgroup.path[0] != '/' || cgroup.path.find("/..") != std::string_view::npos) {
    return absent(kHidden);
  }

  // Where both versions are mounted, the second is beside the first.
  std::string_view mount = "/sys/fs/cgroup";
  char controllers[512];
  std::string_view names = read_once(paths.join({root, mount, "/cgroup.controllers"}), controllers);
  if (names.empty()) {
    mount = "/sys/fs/cgroup/unified";
    names = read_once(paths.join({root, mount, "/cgroup.controllers"}), controllers);
    // It may be empty: no controller is left for this hierarchy.
    if (names.empty() && ::access(paths.join({root, mount, "/cgroup.controllers"}), F_OK) != 0) {
      return absent(kHidden);
    }
  }
  const bool counts_memory = has_word(names, "memory");

  std::string_view path = cgroup.path;
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  std::optional<double> least;
  for (std::size_t i = 0; i <= kMaxCgroupDepth; ++i) {
    double low = 0;
    const LowFile read = read_low(paths, root, mount, path, low);
    if (read == LowFile::kFailed || i == kMaxCgroupDepth) return absent(kUnreadable);
    if (read == LowFile::kNoDirectory) return absent(kHidden);
    if (read == LowFile::kRead) least = std::min(low, least.value_or(low));
    // The real root has no such file; a container's own cgroup, mounted there, has.
    if (path.empty()) break;
    // A cgroup without the controller is charged to the next one above that has it. Above that one,
    // all have it.
    if (read == LowFile::kNone && least) return absent(kUnreadable);
    path = path.substr(0, path.rfind('/'));
  }
  if (least) return {*least, {}};
  // Charged to the root, which nothing protects.
  if (counts_memory) return {0, {}};
  return absent(kNoController);
}

void write_memory_protection(SampleWriter& out, const MemoryProtection& protection) {
  if (protection.low) {
    out.put(kProtectionMetrics[kLow], *protection.low);
  } else {
    out.put(kProtectionMetrics[kAbsent], 1, protection.absent_reason);
  }
}

std::span<const Descriptor> memory_protection_metrics() { return kProtectionMetrics; }

}  // namespace jetmem
