// SPDX-License-Identifier: Apache-2.0
// The connections of one address: which phase each is in, the deadline of that phase, and which
// one is closed for another when all are taken. The web thread's own; the caller cuts them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "daemon/http/access/client_key.h"
#include "daemon/http/access/response_memory.h"
#include "daemon/http/access/tls_server.h"

struct MHD_Connection;

namespace jetmem {

struct Connection {
  enum class Phase : std::uint8_t {
    kRequest,    // its request, and with TLS its handshake, is not complete
    kRequested,  // its answer is being made
    kAnswer,     // it has not read all of its answer
  };

  MHD_Connection* handle = nullptr;
  int fd = -1;
  ClientKey client;
  Phase phase = Phase::kRequest;
  Nanoseconds opened{0};
  Nanoseconds since{0};     // of the phase
  Nanoseconds deadline{0};  // of the phase; kNever: none
  std::uint32_t requests = 0;
  bool is_cut = false;
  // Kept until the request has ended: libmicrohttpd sends from its body without a copy.
  std::unique_ptr<AnswerMemory::Held> answer;
  Handshake handshake;
  bool in_handshake() const { return handshake.server != nullptr && !handshake.done; }
};

class Connections {
 public:
  static constexpr Nanoseconds kNever = Nanoseconds::max();
  // A long answer's deadline allows for a reader as slow as this.
  static constexpr std::uint64_t kSlowestReader = 32U << 10;  // bytes a second
  // When all connections are taken, one may be evicted that has been without a request for so
  // long, or has been reading an answer for so long.
  static constexpr Nanoseconds kMayClose = std::chrono::milliseconds(500);
  static constexpr Nanoseconds kReaderMayExit = std::chrono::seconds(3);
  // A connection that is this old, or has had so many requests, ends with its next answer.
  static constexpr Nanoseconds kMaxKept = std::chrono::hours(1);
  static constexpr std::uint32_t kMostRequests = 10'000;

  struct Limits {
    Nanoseconds request{0};  // from its beginning
    Nanoseconds idle{0};     // between two requests, beside that
  };
  explicit Connections(Limits limits) : limits_(limits) {}

  Connection& open(MHD_Connection* handle, int fd, const ClientKey& client, Nanoseconds now);
  void close(const Connection* connection);

  void requested(Connection& connection, Nanoseconds now);
  void answered(Connection& connection, std::size_t bytes, Nanoseconds now);
  // The client has the whole answer.
  void finished(Connection& connection, Nanoseconds now);
  // Whether its next answer is to be its last.
  static bool is_worn(const Connection& connection, Nanoseconds now);

  // Whether any TLS handshake is in progress.
  bool has_handshake() const;
  std::size_t of_client(const ClientKey& client) const;
  // The next deadline; kNever: none.
  Nanoseconds next_deadline() const;
  // One past its deadline that is not cut yet.
  Connection* overdue(Nanoseconds now);
  // The one to evict: of the client with most connections, the longest idle one. With `client` only
  // among its connections. Null: none before closable_at().
  Connection* to_evict(Nanoseconds now, const ClientKey* client = nullptr);
  Nanoseconds closable_at() const;

 private:
  static Nanoseconds closable_at(const Connection& connection);

  const Limits limits_;
  std::vector<std::unique_ptr<Connection>> all_;
};

}  // namespace jetmem
