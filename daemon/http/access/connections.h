// SPDX-License-Identifier: Apache-2.0
// The connections of one address: which phase each is in, and the deadline of that phase. The web
// thread's own; the caller closes them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/http/access/tls_server.h"
#include "daemon/http/client_key.h"

struct MHD_Connection;

namespace jetmem {

// The machine's clock: the daemon's may run faster, with --speed.
inline Nanoseconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

struct Connection {
  enum class Phase : std::uint8_t {
    kRequest,    // idle, or its request, and with TLS its handshake, is not complete
    kRequested,  // its answer is being made
    kAnswer,     // it has not read all of its answer
  };

  static constexpr Nanoseconds kNever = Nanoseconds::max();

  MHD_Connection* handle = nullptr;
  int fd = -1;
  ClientKey client;
  Phase phase = Phase::kRequest;
  Nanoseconds since{0};     // of the phase
  Nanoseconds deadline{0};  // of the phase; kNever: none
  bool is_kept = false;     // it has had an answer
  bool is_cut = false;      // it is being closed
  bool is_counted = false;  // among the refusals
  // Of the request whose headers are being read: as its first line had it.
  bool in_headers = false;
  const char* uri = nullptr;  // decoded in place meanwhile
  std::size_t uri_size = 0;
  bool is_uri_malformed = false;
  bool is_last = false;  // it ends with the answer that it has or had
  // Kept until the request has ended: libmicrohttpd sends from it without a copy.
  std::shared_ptr<const std::string> answer;
  Handshake handshake;
  bool in_handshake() const { return handshake.server != nullptr && !handshake.done; }
  // The kernel still holds bytes of an answer that the client has not received.
  bool has_unread() const;
  // While its request waits for the history or its password. libmicrohttpd ignores it while it is
  // suspended.
  std::optional<Nanoseconds> waits_since;
  bool at_gate = false;             // it waits for its password
  Nanoseconds asks_again = kNever;  // when it is resumed at the latest; kNever: not suspended
};

class Connections {
 public:
  // A long answer's deadline allows for a reader as slow as this.
  static constexpr std::uint64_t kSlowestReader = 32U << 10;  // bytes a second

  // `timeout`: of a request, from the connection's beginning or the answer before, and of an
  // answer.
  explicit Connections(Nanoseconds timeout) : timeout_(timeout) {}

  Connection& open(MHD_Connection* handle, int fd, const ClientKey& client, Nanoseconds now);
  void close(const Connection* connection);

  void requested(Connection& connection);
  void answered(Connection& connection, std::size_t bytes, Nanoseconds now);
  // The client has the whole answer.
  void finished(Connection& connection, Nanoseconds now);

  const std::vector<std::unique_ptr<Connection>>& all() const { return all_; }
  // Whether any TLS handshake is in progress.
  bool has_handshake() const;
  // Those that are not cut: all, or of one client.
  std::size_t count(const ClientKey* client = nullptr) const;
  // Of those without a complete request and with nothing unread, of one client or all, the one that
  // has been so for longest. Null: there is none.
  Connection* oldest_idle(const ClientKey* client = nullptr) const;

 private:
  const Nanoseconds timeout_;
  std::vector<std::unique_ptr<Connection>> all_;
};

}  // namespace jetmem
