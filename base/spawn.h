// SPDX-License-Identifier: Apache-2.0
// Starts child processes: no inherited descriptors, no inherited signal settings, and a pidfd
// that says when the child is really gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jetmem {

// The kernel kills the child when the calling thread ends, and does not spare it as it does the
// daemon when memory runs short: it can be started again.
struct SpawnRequest {
  // Absolute program path and arguments.
  std::vector<std::string> argv;
  // Descriptors to hand over: {ours, number in the child}. The rest is closed; 0, 1 and 2 are
  // /dev/null unless they are named here.
  std::vector<std::pair<int, int>> descriptors;
  // "NAME=value", on top of the fixed PATH and LC_ALL, which is all that others get.
  std::vector<std::string> environment = {};
  // It is no program of jetmem's: it leads a process group of its own, so that what it starts ends
  // with it.
  bool own_process_group = false;
};

struct Child {
  pid_t pid = -1;
  // Readable once the process is gone. Invalid on kernels before 5.3.
  UniqueFd pidfd;
};

class Spawner {
 public:
  virtual ~Spawner() = default;
  // An error when the program cannot be executed; its message names program and cause.
  virtual Result<Child> spawn(const SpawnRequest& request) = 0;
};

class SystemSpawner final : public Spawner {
 public:
  Result<Child> spawn(const SpawnRequest& request) override;
};

// Where another program of jetmem is installed, or lies in a build tree, seen from the running one;
// empty when it is nowhere.
std::string find_companion(std::string_view name);

// A pidfd for any process, ours or not; invalid when it is gone or the kernel has none.
UniqueFd open_pidfd(pid_t pid);
// The kernel's PID_MAX_LIMIT on 64-bit machines: no process has this number or one above.
inline constexpr std::uint64_t kPidLimit = 1U << 22;

// Closes every descriptor from `first` on.
void close_from(int first);

}  // namespace jetmem
