// SPDX-License-Identifier: Apache-2.0
// A raw-socket HTTP client: sends what it is given, however wrong, and reads what comes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "config/listen_address.h"

namespace jetmem::test {

struct Reply {
  int code = 0;  // 0: the connection ended, or nothing came in time
  std::string version;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string header(const std::string& name) const {
    const auto at = headers.find(name);
    return at == headers.end() ? "" : at->second;
  }
};

class HttpClient {
 public:
  // Fails the test when it cannot connect.
  explicit HttpClient(const ListenAddress& address);

  // False when the server has closed the connection.
  bool send(std::string_view text);
  // The next reply; `to_head` when the request was HEAD, whose reply has no body.
  Reply receive(bool to_head = false);
  // True when the server closes before it has been silent for `milliseconds`. What it still sent
  // is dropped.
  bool closes_within(int milliseconds);

  int fd() const { return fd_.get(); }

 private:
  bool read_more(int milliseconds);

  UniqueFd fd_;
  std::string buffer_;
};

// One request on a connection of its own. `headers` are whole lines.
Reply fetch(const ListenAddress& address, const std::string& path, const std::string& headers = "",
            const std::string& method = "GET");

// What gzip made, or "" when it is no valid, complete gzip member.
std::string gunzip(const std::string& compressed);

}  // namespace jetmem::test
