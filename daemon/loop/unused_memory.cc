// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/unused_memory.h"

#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

namespace jetmem {
namespace {

bool is_changed_by_linker(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_TEXTREL) return true;
      if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0) return true;
    }
  }
  return false;
}

// Only what nobody may write: dropped pages come back as they are in the file.
int release_file_pages(dl_phdr_info* info, std::size_t /*size*/, void* /*unused*/) {
  const std::string_view name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const bool is_of_kernel = name.starts_with("linux-");  // the vDSO has no file
  if (is_of_kernel || is_changed_by_linker(*info)) return 0;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t from = (start + page - 1) / page * page;
    const std::uintptr_t to = (start + segment.p_filesz) / page * page;
    // Where it fails, the pages stay.
    if (from < to) (void)::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void release_unused_memory() {
  ::malloc_trim(0);
  ::dl_iterate_phdr(release_file_pages, nullptr);
}

}  // namespace jetmem
