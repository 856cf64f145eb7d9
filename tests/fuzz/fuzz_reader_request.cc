// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <cstring>

#include "collectors/reader/protocol.h"
#include "collectors/reader/server.h"
#include "tests/fuzz/target.h"
#include "tests/temp_dir.h"

// A packet to the reader, which may read files that who sends it may not: the answer is one, and of
// nothing but the sources that there are.
FUZZ(input) {
  static const TempDir tree;
  static const std::string file = tree.write("proc/meminfo", "MemTotal: 1000 kB\n");
  static constexpr std::array<std::string_view, 1> kPaths{"/proc/meminfo"};
  static constexpr SourceInfo kInfo{.name = "meminfo", .paths = kPaths};
  static constexpr std::array<const SourceInfo*, 1> kSources{&kInfo};
  int ends[2];
  check(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  const UniqueFd here(ends[0]);
  const UniqueFd there(ends[1]);
  reader::Server server(there.get(), *Root::at(tree.path()), kSources);
  std::string packet(input);
  reader::Request request;
  if (packet.size() == sizeof request) {
    std::memcpy(&request, packet.data(), sizeof request);
    request.deadline_ms = 600'000;  // it ends the process; 0 is none, and refused
    std::memcpy(packet.data(), &request, sizeof request);
  }
  (void)::send(here.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
  const bool served = server.serve_one();
  char bytes[4096];
  const ssize_t n = ::recv(here.get(), bytes, sizeof bytes, 0);
  check(served == (n > 0));
  if (!served) return;
  reader::AnswerHeader header;
  check(packet.size() == sizeof request && n >= static_cast<ssize_t>(sizeof header));
  std::memcpy(&header, bytes, sizeof header);
  check(header.sequence == request.sequence && (header.flags & 1U) != 0);
  Snapshot snapshot;
  const std::string_view stream(bytes + sizeof header, static_cast<std::size_t>(n) - sizeof header);
  check(reader::decode(stream, snapshot).has_value());
  const bool known = (header.flags & reader::AnswerHeader::kUnknownSource) == 0;
  check(known == (snapshot.size() == 1) && snapshot.size() <= 1);
  check(!known || snapshot[0].path == kPaths[0]);
}
