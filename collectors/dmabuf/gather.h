// SPDX-License-Identifier: Apache-2.0
// Reads what the source dmabuf parses (collectors/dmabuf/source.h), in jetmem-reader.
#pragma once

#include <chrono>
#include <string_view>

#include "base/root/gatherer.h"

namespace jetmem {

inline constexpr std::string_view kBufinfoPath = "/sys/kernel/debug/dma_buf/bufinfo";
inline constexpr std::string_view kDmabufSysfs = "/sys/kernel/dmabuf/buffers";
// Buffers of the folder above that there was no room for.
inline constexpr std::string_view kNoteBuffersLeftOut = "jetmem:buffers left out";
// The folder has more buffers than were listed.
inline constexpr std::string_view kNoteBuffersCut = "jetmem:buffers cut";

// 50 000 buffers make a bufinfo of 9 MB; of what lies behind the first MiB the rows of nvmap's
// buffers are kept, and the last line. Each of the others is a few lines of text.
inline constexpr ReadLimits kDmabufLimits{
    .file_bytes = 4096, .total_bytes = 6U << 20, .files = 49152, .names = 65536};

// The bound on the time of the walk through the processes, and of the buffers in sysfs; the
// processes that run longest are looked at first. bufinfo, which the kernel makes in one piece, has
// none but the reader's deadline (reader.deadline), which must be well above both: where it takes
// longer, only the rest is read until the kernel may answer again (Gatherer::is_sparing()).
inline constexpr std::chrono::nanoseconds kDmabufMostTime = std::chrono::seconds(1);

void gather_dmabuf(Gatherer& files);
void gather_dmabuf_within(Gatherer& files, std::chrono::nanoseconds most_time);

}  // namespace jetmem
