// SPDX-License-Identifier: Apache-2.0
// /sys/kernel/debug/dma_buf/bufinfo: every DMA-BUF of the machine. Root only (debugfs). Printing it
// takes the lock of the list of all buffers, and each buffer's own in turn: a program that makes or
// drops one meanwhile waits, some ms with 50 000 buffers. Hence seldom.
//
// Format (drivers/dma-buf/dma-buf.c, dma_buf_debug_show()):
//
//   <blank>
//   Dma-buf Objects:
//   size<T>flags<T>mode<T>count<T>exp_name                                     up to 4.18
//   size    <T>flags   <T>mode    <T>count   <T>exp_name<T>ino     [<T>name]   4.19, 5.3, 5.19
//   12441600<T>00000002<T>00080007<T>00000003<T>nvmap[<T>00001234[<T>camera-0]]
//   <T>Exclusive fence: ... | <T>Shared fence: ... | <T>write fence:...        any number
//   <T>Attached Devices:
//   <T>13e10000.host1x:nvcsi                                                   any number
//   Total 1 devices attached
//   <blank>
//   ...
//   <blank>
//   Total 8 objects, 99532800 bytes
//
// <T> is a tab. The size is *decimal*, filled up with zeros to 8 digits. Flags and mode are
// hexadecimal. A name is missing ("", or "<none>" later) or up to 31 bytes that a program chose
// (DMA_BUF_SET_NAME), newlines and tabs among them. It cannot pretend to be a row, whose first
// columns take 36 bytes, nor the last line, behind which nothing is printed. It can pretend to be
// the list of devices, but that comes once more behind it, and the last one counts.
// A buffer that could not be locked (before 5.10) is a line "\tERROR locking buffer object:
// skipping" and in no total.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace jetmem {

// Buffers that have something in common: who made them, or which device has them mapped.
struct DmabufShare {
  std::string name;
  std::uint64_t buffers = 0;
  std::uint64_t bytes = 0;

  bool operator==(const DmabufShare&) const = default;
};

// A buffer that nvmap made.
struct NvmapBuffer {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  // References to its file: one for each client of nvmap that has it, for each descriptor, for each
  // mapping (VMA) and for each driver that took it. 0: not understood.
  std::uint64_t references = 0;

  bool operator==(const NvmapBuffer&) const = default;
};

struct Bufinfo {
  // Then one more, "other", for all others.
  static constexpr std::size_t kMaxExporters = 32;
  static constexpr std::string_view kOther = "other";
  static constexpr std::size_t kMaxDevices = 64;

  // The totals of the last line, of all buffers.
  std::uint64_t buffers = 0;
  std::uint64_t bytes = 0;
  // Sums of the rows that were read.
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t largest = 0;
  // Buffers whose list of devices was cut off or does not agree with its own count.
  std::uint64_t devices_unknown = 0;
  // Buffers that the kernel could not lock and omitted from its totals.
  std::uint64_t unlocked = 0;
  // Attachments of devices beyond the bounds.
  std::uint64_t beyond_bound = 0;
  // In order of appearance.
  std::vector<DmabufShare> exporters;
  std::vector<DmabufShare> devices;
  // By inode; none where the kernel does not print it.
  std::vector<NvmapBuffer> of_nvmap;

  bool operator==(const Bufinfo&) const = default;
};

// "nvmap_dmabuf"; "nvmap" on some releases.
inline bool is_nvmap(std::string_view exporter) { return exporter.starts_with("nvmap"); }

// Counts one more buffer. Exporters beyond the bound are summed up as "other".
void add_exporter(std::string_view name, std::uint64_t bytes, Bufinfo& out);

// `text` is the whole file, or its beginning, cut behind a line, and then `end` is what it ends
// with, and `more` has the rows of nvmap's buffers that lie behind the beginning. Errors: no
// heading, no total at the end.
Result<void> parse_bufinfo(std::string_view text, std::optional<std::string_view> end, Bufinfo& out,
                           std::string_view more = {});

}  // namespace jetmem
