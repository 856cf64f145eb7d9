// SPDX-License-Identifier: Apache-2.0
// What the daemon and jetmem-reader say to each other, over a SOCK_SEQPACKET connection.
//
// A request names a source, never a path: the reader reads the paths that its own registry lists
// for that source, so that whoever takes over the daemon gains no file beyond those. The answer is
// the raw bytes or the errno of each file; the reader parses nothing.
//
//   hello     from the reader, once: AnswerHeader with sequence 0
//   request   one packet: Request
//   answer    one or more packets: AnswerHeader, then a piece of the record stream; the last one
//             carries kLast. Record: RecordHeader, path, text.
//
// A source that is followed (Access::kStream) is opened, not read: its answer holds one record
// without text. When it could be opened the last packet carries kDescriptor, and the descriptor
// itself (SCM_RIGHTS). Rights are checked when it is opened, so whoever has it can read on without.
//
// Both ends run on the same machine and come from the same build, so numbers are in native order.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/root/snapshot.h"

namespace jetmem::reader {

inline constexpr std::uint32_t kMagic = 0x6a6d7231;  // "jmr1"; changes with the format
inline constexpr std::size_t kMaxPacket = 48U << 10;
inline constexpr std::size_t kMaxAnswer = 8U << 20;
// How much later than the reader itself the client gives up on it.
inline constexpr std::uint32_t kGraceMs = 500;

struct Request {
  std::uint32_t magic = kMagic;
  std::uint32_t sequence = 0;
  // The reader ends itself when it has not answered by then.
  std::uint32_t deadline_ms = 0;
  char source[32] = {};
  std::uint32_t is_sparing = 0;  // 1: Gatherer::is_sparing()
};

struct AnswerHeader {
  static constexpr std::uint32_t kLast = 1;
  static constexpr std::uint32_t kTruncated = 2;      // Snapshot::truncated()
  static constexpr std::uint32_t kUnknownSource = 4;  // no such source in the reader's registry
  static constexpr std::uint32_t kDescriptor = 8;     // a descriptor comes with this packet

  std::uint32_t magic = kMagic;
  std::uint32_t sequence = 0;
  std::uint32_t flags = 0;
  std::uint32_t reserved = 0;
  std::uint64_t read_ns = 0;  // how long reading the files took
};

struct RecordHeader {
  std::uint32_t path_size = 0;
  std::uint32_t text_size = 0;
  std::int32_t error = 0;
};

// Snapshot -> record stream, and back. Decoding trusts no length.
void encode(const Snapshot& snapshot, ByteBuffer& out);
Result<void> decode(std::string_view stream, Snapshot& out);

}  // namespace jetmem::reader
