// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/http_port.h"
#include "tests/fuzz/served.h"
#include "tests/temp_dir.h"
#include "tests/unix_socket.h"

namespace {

using namespace jetmem;

// A port as the web thread has it, served by whoever calls.
struct Server : Served {
  TempDir dir;
  WebOptions options;
  HttpPort::Shared shared{options, [this](const Request& request) { return pages.answer(request); },
                          metrics};
  std::unique_ptr<HttpPort> port;

  Server() {
    const ListenAddress address{ListenAddress::Family::kUnix, dir.file("http.socket"), 0};
    auto opened = HttpPort::open(address, shared, nullptr);
    check(opened.has_value());
    port = std::move(*opened);
  }
  UniqueFd connect() {
    UniqueFd fd = unix_client(dir.file("http.socket"), SOCK_STREAM | SOCK_NONBLOCK);
    check(fd.valid());
    return fd;
  }
};

std::string receive(int fd) {
  std::string out;
  char piece[4096];
  for (ssize_t n = 0; (n = ::recv(fd, piece, sizeof piece, 0)) > 0;) {
    out.append(piece, static_cast<std::size_t>(n));
  }
  return out;
}

}  // namespace

// The bytes of a connection, in two pieces: the first two bytes say where the second begins. All of
// jetmem's part of HTTP, and libmicrohttpd, over a real socket.
FUZZ(input) {
  static Server server;
  if (input.size() < 3) return;
  const std::string_view text = input.substr(2);
  const std::size_t cut = two_bytes_of(input) % text.size();
  std::string answer;
  {
    const UniqueFd client = server.connect();
    for (const std::string_view piece : {text.substr(0, cut), text.substr(cut)}) {
      (void)::send(client.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
      server.port->serve(false);
      answer += receive(client.get());
    }
    ::shutdown(client.get(), SHUT_WR);
    for (int i = 0; i < 3; ++i) {
      server.port->serve(false);
      answer += receive(client.get());
    }
  }
  for (int i = 0; i < 5 && server.port->connections() > 0; ++i) server.port->serve(false);
  // Nothing of it is left, and what came is an answer.
  check(server.port->connections() == 0);
  check(answer.empty() || answer.starts_with("HTTP/1."));
}
