// SPDX-License-Identifier: Apache-2.0
// Which processes hold DMA-BUFs: /proc/<pid>/fdinfo/<n> of the descriptors that are buffers.
//
// Format (fs/proc/fd.c, then dma_buf_show_fdinfo(), since 5.3):
//
//   pos:<T>0
//   flags:<T>02000002
//   mnt_id:<T>13
//   ino:<T>1234            since 5.14, of every descriptor
//   size:<T>12441600
//   count:<T>3
//   exp_name:<T>nvmap
//   name:<T>camera-0       only when a program named it; any bytes, newlines too
//
// What comes first is the kernel's, so each key counts where it is first met, and `ino` only in
// front of `size`. From 5.3 to 5.13 the inode is in a record /proc/<pid>/fd/<n>, "ino:<T>1234",
// which gather makes. Before 5.3 fdinfo has neither size nor inode: the record /proc/<pid>/fd/<n>
// is "anon_inode:dmabuf" then, and the buffer is counted without a size.
//
// Where nvmap made buffers, mappings too: the lines of /proc/<pid>/maps that map one. Without its
// descriptor a mapping still holds the buffer. No page tables are walked (no smaps).
//
//   7f969ed000-7f991ed000 rw-s 00000000 00:08 1234      /dmabuf:camera-0
//
// What only a driver or a client of nvmap holds is not among them.
//
// A buffer of nvmap is *clientless* when descriptors and mappings of processes are all references
// to its file that there are (bufinfo.h): nvmap charges it to nobody.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/root/snapshot.h"
#include "collectors/dmabuf/bufinfo.h"
#include "collectors/processes/group/groups.h"
#include "collectors/source.h"

namespace jetmem {

struct DmabufHolder {
  std::uint32_t pid = 0;
  std::string name;  // its comm; empty when it could not be read
  // Each buffer once, however many descriptors of it the process has.
  std::uint32_t buffers = 0;
  std::uint64_t bytes = 0;
  std::uint64_t nvmap_bytes = 0;  // of those whose exporter's name begins with "nvmap"
  // Descriptors whose buffer's size or identity this kernel does not tell: in nothing above.
  std::uint32_t unsized = 0;
  // All descriptors of buffers that were seen: several may be of one buffer.
  std::uint64_t descriptors = 0;
  // Those of them that were only counted, because a process has more than are looked at one by one:
  // in nothing else above.
  std::uint64_t beyond = 0;
  std::uint64_t clientless_bytes = 0;  // of nvmap_bytes
  // Sizes of nvmap's buffers that it has mapped, each mapping: in its resident memory as far as it
  // touched them.
  std::uint64_t mapped_bytes = 0;
  // Its mappings could not be read, or of buffers it has mapped it is not known who made them: in
  // nothing above.
  bool mappings_missed = false;

  bool operator==(const DmabufHolder&) const = default;
};

// Holders of one name, a buffer once for all of them.
struct DmabufName {
  ProcessKey key;  // a command alone
  std::uint64_t buffers = 0;
  std::uint64_t bytes = 0;
  std::uint64_t descriptors = 0;
  std::uint64_t unsized = 0;
  std::uint64_t beyond = 0;
  std::uint64_t clientless_bytes = 0;
  bool mappings_missed = false;
};

// How many buffers of one size a process holds that may lie in contiguous memory: nvmap's and those
// of the system's heaps are omitted.
struct DmabufOfSize {
  std::uint64_t bytes = 0;  // of each
  std::uint64_t buffers = 0;
  std::uint32_t pid = 0;
  std::string name;

  bool operator==(const DmabufOfSize&) const = default;
};

// A process that has /dev/nvmap open, once for each open file.
struct NvmapOpener {
  std::uint32_t pid = 0;
  std::string name;
  // The same for each who has that open file: each is a client of nvmap. 0: not known.
  std::uint32_t file = 0;

  bool operator==(const NvmapOpener&) const = default;
};

struct DmabufHolders {
  std::vector<DmabufHolder> holders;  // the largest first
  std::vector<DmabufName> names;      // by name of the process
  // Of all that were seen, each buffer once.
  std::uint64_t buffers = 0;
  std::uint64_t bytes = 0;
  // Of those that more than one process has.
  std::uint64_t shared_buffers = 0;
  std::uint64_t shared_bytes = 0;
  // Descriptors of buffers whose size this kernel does not tell: in no holder's bytes.
  std::uint64_t unsized = 0;
  // Of nvmap's buffers, each once: those without a client.
  std::uint64_t clientless_bytes = 0;
  std::vector<NvmapOpener> nvmap_openers;  // by pid and file
  static constexpr std::size_t kMaxSizes = 1024;
  std::vector<DmabufOfSize> sizes;  // the largest first; beyond kMaxSizes there are none

  std::uint64_t processes = 0;  // whose descriptors were looked at
  std::uint64_t processes_denied = 0;
  std::uint64_t processes_omitted = 0;
  std::uint64_t descriptors_left_out = 0;
  std::uint64_t beyond = 0;      // those of them that are counted in their holders
  std::uint64_t unreadable = 0;  // processes and descriptors that failed, and had not ended
  bool hidden = false;           // not even process 1 is to be seen: hidepid
  std::uint64_t malformed = 0;
  // Processes whose mappings were looked at, and those whose mappings could not be; of the latter,
  // those that are among the holders.
  std::uint64_t mappings = 0;
  std::uint64_t mappings_missed = 0;
  std::uint64_t holders_missed = 0;
  bool knows_nvmap = false;  // whether all buffers of nvmap were listed
  // Without bufinfo and mappings, after a reading that did not return.
  bool is_sparing = false;

  // Whether nobody's buffers are missing but those without a size.
  bool whole() const {
    return !is_sparing && !hidden && processes_denied == 0 && processes_omitted == 0 &&
           descriptors_left_out == 0 && unreadable == 0;
  }
  // Whether what processes have mapped is known, but for the holders that say otherwise.
  bool mappings_known() const {
    return mappings > 0 && mappings_missed == holders_missed && whole();
  }
  // Whether what is clientless is all there is: any other buffer of nvmap may have references that
  // were not seen.
  bool clientless_known() const { return mappings_known() && holders_missed == 0 && knows_nvmap; }
  // Whether not all could be looked at, for time, room or an error: whose buffers are missing is
  // not known.
  bool is_cut() const {
    return is_sparing || processes_omitted > 0 || descriptors_left_out > beyond || unreadable > 0;
  }
};

// A record that gather makes, "/proc/<pid>/beyond bound": how many more descriptors of buffers a
// process has than were looked at one by one.
inline constexpr std::string_view kLeafBeyond = "beyond bound";

// What gather says about itself, beside the files.
inline constexpr std::string_view kNoteProcesses = "jetmem:processes";
inline constexpr std::string_view kNoteDescriptorsLeftOut = "jetmem:descriptors left out";
inline constexpr std::string_view kNoteUnreadable = "jetmem:unreadable";  // where there are any
inline constexpr std::string_view kNoteMappings = "jetmem:mappings";
inline constexpr std::string_view kNoteMappingsMissed = "jetmem:mappings missed";
// What gather makes of a descriptor of nvmap's device; a second line "file:<T>3" where it knows
// which open file that is.
inline constexpr std::string_view kNvmapDevice = "/dev/nvmap";
// In each line of maps that is of interest.
inline constexpr std::string_view kDmabufPath = "/dmabuf:";

// The figures of one buffer as its fdinfo has them.
struct DmabufFdinfo {
  std::optional<std::uint64_t> size;
  std::optional<std::uint64_t> inode;
  std::string_view exporter;
};
// None for text that was cut or in which a figure cannot be understood.
std::optional<DmabufFdinfo> parse_dmabuf_fdinfo(std::string_view text);

struct DmabufMapping {
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
};
// None for a line of maps that maps something else.
std::optional<DmabufMapping> parse_dmabuf_mapping(std::string_view line);

// Takes the records below /proc and the notes; others are passed over. A buffer that cannot be
// understood is counted as malformed. `of_nvmap` by inode, empty where not known; `is_all`: there
// are no others.
void parse_dmabuf_holders(const Snapshot& snapshot, std::span<const NvmapBuffer> of_nvmap,
                          bool is_all, DmabufHolders& out);

}  // namespace jetmem
