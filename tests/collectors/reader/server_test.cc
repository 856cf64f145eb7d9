// SPDX-License-Identifier: Apache-2.0
// What the reader takes for a request.
#include "collectors/reader/server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "collectors/reader/protocol.h"
#include "tests/temp_dir.h"

namespace jetmem::reader {
namespace {

constexpr std::array<std::string_view, 1> kPaths{"/proc/text"};
constexpr SourceInfo kOnlySource{.name = "text", .paths = kPaths};
constexpr std::array<const SourceInfo*, 1> kOneSource{&kOnlySource};

// Whether a packet of a good request's first bytes, and zeros behind it, is answered.
bool is_answered(std::size_t size) {
  const TempDir tree;
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const UniqueFd here(ends[0]);
  const UniqueFd there(ends[1]);
  Server server(there.get(), *Root::at(tree.path()), kOneSource);
  Request request;
  std::strcpy(request.source, "text");
  request.deadline_ms = 60'000;
  std::string packet(reinterpret_cast<const char*>(&request), sizeof request);
  packet.resize(size, '\0');
  EXPECT_EQ(::send(here.get(), packet.data(), packet.size(), 0), static_cast<ssize_t>(size));
  const bool served = server.serve_one();
  char answer[4096];
  EXPECT_EQ(::recv(here.get(), answer, sizeof answer, 0) > 0, served);
  return served;
}

TEST(ReaderServer, ARequestIsExactlyOne) {
  EXPECT_TRUE(is_answered(sizeof(Request)));
  EXPECT_FALSE(is_answered(sizeof(Request) - 1));
  EXPECT_FALSE(is_answered(sizeof(Request) + 1));
}

}  // namespace
}  // namespace jetmem::reader
