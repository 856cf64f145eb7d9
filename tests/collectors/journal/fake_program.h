// SPDX-License-Identifier: Apache-2.0
// Stands for jetmem-journal in tests of its client.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "collectors/journal/protocol.h"
#include "tests/fork_spawner.h"

namespace jetmem::journal {

using FakeProgram = ForkSpawner;

inline void send_packet(int fd, const Packet& packet) {
  std::string bytes;
  write_packet(packet, bytes);
  ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

inline Packet packet_of(PacketKind kind, std::string_view text = {},
                        Voice voice = Voice::kProcesses) {
  Packet packet;
  packet.header.kind = kind;
  packet.header.voice = voice;
  packet.text = text;
  return packet;
}

// Answers pings until the connection ends.
inline void answer_pings(int fd) {
  char byte = 0;
  while (::recv(fd, &byte, 1, 0) == 1) send_packet(fd, packet_of(PacketKind::kAlive));
  ::_exit(0);
}

}  // namespace jetmem::journal
