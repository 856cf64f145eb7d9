// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/open_files.h"

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace jetmem {
namespace {

// 0: the same; 1 to 3: not the same; below 0: not known.
long compare(int one, int other, int type, long index, long other_index) {
  return ::syscall(SYS_kcmp, one, other, type, index, other_index);
}

}  // namespace

std::uint32_t OpenFiles::number_of(int pid, int descriptor) {
  // With itself, too: whether it may be compared at all.
  if (compare(pid, pid, KCMP_FILE, descriptor, descriptor) != 0) return 0;
  bool is_known = true;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const long order = compare(pid, files_[i].pid, KCMP_FILE, descriptor, files_[i].descriptor);
    if (order == 0) return static_cast<std::uint32_t>(i + 1);
    is_known &= order > 0;
  }
  if (!is_known || files_.size() == kMost) return 0;
  files_.push_back({pid, descriptor});
  return static_cast<std::uint32_t>(files_.size());
}

bool SharingProcesses::has_met(int pid) {
  const int type = what_ == What::kDescriptors ? KCMP_FILES : KCMP_VM;
  for (const int other : pids_) {
    if (compare(pid, other, type, 0, 0) == 0) return true;
  }
  if (pids_.size() < kMost) pids_.push_back(pid);
  return false;
}

}  // namespace jetmem
