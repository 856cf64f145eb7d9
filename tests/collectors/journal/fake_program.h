// SPDX-License-Identifier: Apache-2.0
// Stands for jetmem-journal in tests of its client.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/spawn.h"
#include "collectors/journal/protocol.h"

namespace jetmem::journal {

// Starts a function of the test, with the socket it is given.
class FakeProgram final : public Spawner {
 public:
  explicit FakeProgram(std::function<void(int)> run) : run_(std::move(run)) {}
  Result<Child> spawn(const SpawnRequest& request) override {
    argv.push_back(request.argv);
    const pid_t pid = ::fork();
    if (pid == 0) {
      run_(request.descriptors.at(0).first);
      ::_exit(0);
    }
    return Child{pid, open_pidfd(pid)};
  }
  std::vector<std::vector<std::string>> argv;  // of each start

 private:
  std::function<void(int)> run_;
};

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
