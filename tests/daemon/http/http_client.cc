// SPDX-License-Identifier: Apache-2.0
#include "tests/daemon/http/http_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cctype>
#include <cstdlib>
#include <cstring>

#include "daemon/http/server/gzip.h"

namespace jetmem::test {
namespace {

constexpr int kTimeout = 5000;  // ms; never waited for when all is well

template <class Address>
int connect_to(const Address& address, int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

HttpClient::HttpClient(const ListenAddress& address) {
  if (address.family == ListenAddress::Family::kUnix) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    address.host.copy(to.sun_path, sizeof to.sun_path - 1);
    fd_.reset(connect_to(to, AF_UNIX));
  } else if (address.family == ListenAddress::Family::kIpv6) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(address.port);
    inet_pton(AF_INET6, address.host.c_str(), &to.sin6_addr);
    fd_.reset(connect_to(to, AF_INET6));
  } else {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address.port);
    inet_pton(AF_INET, address.host.c_str(), &to.sin_addr);
    fd_.reset(connect_to(to, AF_INET));
  }
  EXPECT_TRUE(fd_.valid()) << "cannot connect to " << address.text();
}

bool HttpClient::send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool HttpClient::read_more(int milliseconds) {
  pollfd polled{fd_.get(), POLLIN, 0};
  if (::poll(&polled, 1, milliseconds) <= 0) return false;
  char chunk[65536];
  const ssize_t got = ::recv(fd_.get(), chunk, sizeof chunk, 0);
  if (got <= 0) return false;
  buffer_.append(chunk, static_cast<std::size_t>(got));
  return true;
}

bool HttpClient::closes_within(int milliseconds) {
  pollfd polled{fd_.get(), POLLIN, 0};
  char dropped[4096];
  while (::poll(&polled, 1, milliseconds) > 0) {
    if (::recv(fd_.get(), dropped, sizeof dropped, 0) <= 0) return true;
  }
  return false;
}

Reply HttpClient::receive(bool to_head) {
  Reply reply;
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!read_more(kTimeout)) return reply;
  }
  const std::string head = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  std::size_t at = head.find("\r\n");
  reply.version = head.substr(0, head.find(' '));
  const int code = std::atoi(head.c_str() + reply.version.size());
  for (at += 2; at < head.size();) {
    const std::size_t line_end = head.find("\r\n", at);
    const std::size_t colon = head.find(": ", at);
    std::string name = head.substr(at, colon - at);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    reply.headers[name] = head.substr(colon + 2, line_end - colon - 2);
    at = line_end + 2;
  }
  const auto length = static_cast<std::size_t>(std::atoi(reply.header("content-length").c_str()));
  if (!to_head) {
    while (buffer_.size() < length) {
      if (!read_more(kTimeout)) return reply;  // cut short: code stays 0
    }
    reply.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
  }
  reply.code = code;
  return reply;
}

Reply fetch(const ListenAddress& address, const std::string& path, const std::string& headers,
            const std::string& method) {
  HttpClient client(address);
  client.send(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  return client.receive(method == "HEAD");
}

std::string gunzip(const std::string& compressed) {
  // The last four bytes are the length of the text, little-endian.
  std::size_t size = 0;
  for (std::size_t i = 1; i <= 4 && i <= compressed.size(); ++i) {
    size = size << 8U | static_cast<unsigned char>(compressed[compressed.size() - i]);
  }
  return size > 4U << 20 ? std::string() : jetmem::gunzip(compressed, size).value_or("");
}

}  // namespace jetmem::test
