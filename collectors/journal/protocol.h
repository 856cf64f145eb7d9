// SPDX-License-Identifier: Apache-2.0
// What jetmem-journal and the daemon say to each other, over a SOCK_SEQPACKET connection.
//
//   to the program   one byte, whatever it is: answered by kAlive
//   to the daemon    one packet each: PacketHeader, cursor, unit, text
//
//   kLine      one line of the journal
//   kPosition  how far a voice is read: the cursor is good to go on from, though no line of it was
//              handed over. Before each kCaughtUp and kAlive, for each voice that has read
//              something
//   kCaughtUp  once: what follows was not there yet when the program started
//   kLost      lines were not looked at; `text` says why, `count` how many, where that is known
//   kBlind     the journal cannot be read; `text` says why, and the program ends
//
// What is in a line was written by whoever could log: treat it as text only. Both ends run on the
// same machine and come from the same build, so numbers are in native order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace jetmem::journal {

inline constexpr std::uint32_t kMagic = 0x6a6d6a32;  // "jmj2"; changes with the format
inline constexpr std::size_t kMaxText = 4096;
inline constexpr std::size_t kMaxCursor = 512;
inline constexpr std::size_t kMaxName = 128;
// The program's status after a kBlind.
inline constexpr int kExitBlind = 3;

enum class PacketKind : std::uint8_t { kLine = 1, kPosition, kCaughtUp, kLost, kAlive, kBlind };

// Whose lines: the program follows each on its own, with a cursor of its own.
enum class Voice : std::uint8_t { kKernel, kProcesses };
inline constexpr std::size_t kVoices = 2;

struct PacketHeader {
  // For `priority` and `facility`, where the entry has none.
  static constexpr std::uint8_t kNone = 0xff;
  // Logged in another boot than the present one, so the stamp is on another clock.
  static constexpr std::uint32_t kOtherBoot = 1;

  std::uint32_t magic = kMagic;
  PacketKind kind = PacketKind::kAlive;
  Voice voice = Voice::kKernel;
  std::uint8_t priority = kNone;
  std::uint8_t facility = kNone;  // 0 is the kernel's own voice
  std::uint32_t flags = 0;
  std::uint32_t pid = 0;  // 0: not known
  std::uint64_t monotonic_us = 0;
  std::uint64_t count = 0;  // kLost; 0: not known
  std::uint16_t cursor_size = 0;
  std::uint16_t unit_size = 0;
  std::uint32_t text_size = 0;
};

struct Packet {
  PacketHeader header;
  std::string_view cursor;
  std::string_view unit;  // or, where it has none, what it calls itself
  std::string_view text;
};

inline constexpr std::size_t kMaxPacket = sizeof(PacketHeader) + kMaxCursor + kMaxName + kMaxText;

// Nothing where the bytes are not exactly one packet. The views are into `bytes`.
std::optional<Packet> parse_packet(std::string_view bytes);
// The sizes in the header are set here; what is longer than its bound is cut.
void write_packet(Packet packet, std::string& out);

}  // namespace jetmem::journal
