// SPDX-License-Identifier: Apache-2.0
// The connections of one address: which phase each is in, the deadline of that phase, and which
// one is closed for another when all are taken. The web thread's own; the caller cuts them.
//
// A newcomer always gets in: it takes the place of a connection of the client that holds most,
// whatever that connection does. It has a moment to send its request: the next one waits for that.
// In a storm of newcomers each client has its share. Root has a few places of its own on Unix
// sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
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
  bool is_cut = false;       // by Connections::cut()
  bool is_evicted = false;   // cut, and counted, for another one
  bool is_reserved = false;  // it has one of root's own places
  // Of the request whose headers are being read: as its first line had it.
  bool in_headers = false;
  const char* uri = nullptr;  // decoded in place meanwhile
  std::size_t uri_size = 0;
  bool is_uri_malformed = false;
  bool is_last = false;  // it ends with the answer that it has or had
  // Kept until the request has ended: libmicrohttpd sends from its body without a copy.
  std::unique_ptr<AnswerMemory::Held> answer;
  Handshake handshake;
  bool in_handshake() const { return handshake.server != nullptr && !handshake.done; }
};

// Whether clients have been coming for long while all connections were taken and none was idle.
class Storm {
 public:
  static constexpr Nanoseconds kLasts = std::chrono::milliseconds(300);
  static constexpr Nanoseconds kPause = std::chrono::milliseconds(200);  // between two of them
  // It is over when nobody has come for so long while all were taken.
  static constexpr Nanoseconds kEnds = std::chrono::seconds(2);

  // Someone comes while all are taken.
  bool lasts(Nanoseconds now, bool one_is_idle);

 private:
  Nanoseconds began_{0};
  Nanoseconds seen_{0};  // when last
  bool lasts_ = false;
};

class Connections {
 public:
  static constexpr Nanoseconds kNever = Nanoseconds::max();
  // A long answer's deadline allows for a reader as slow as this.
  static constexpr std::uint64_t kSlowestReader = 32U << 10;  // bytes a second
  // Idle, and evicted first: without a request for so long, or reading an answer for so long.
  static constexpr Nanoseconds kMayClose = std::chrono::milliseconds(500);
  static constexpr Nanoseconds kReaderMayExit = std::chrono::seconds(3);
  // On a port none is closed for another client's before it has been open for so long, unless its
  // own client has more than kFew.
  static constexpr Nanoseconds kGrace = std::chrono::milliseconds(100);
  // A connection that is this old, or has had so many requests, ends with its next answer.
  static constexpr Nanoseconds kMaxKept = std::chrono::hours(1);
  static constexpr std::uint32_t kMostRequests = 10'000;
  // Clients with so few are alike: then what its connections do decides.
  static constexpr std::size_t kFew = 8;
  // Places of root's, beside those of all.
  static constexpr std::size_t kReserved = 4;

  struct Limits {
    Nanoseconds request{0};  // from its beginning
    Nanoseconds idle{0};     // between two requests, beside that
  };
  explicit Connections(Limits limits) : limits_(limits) {}

  Connection& open(MHD_Connection* handle, int fd, const ClientKey& client, Nanoseconds now);
  void close(const Connection* connection);
  // It counts no longer; to be closed by the caller.
  void cut(Connection& connection);

  void requested(Connection& connection, Nanoseconds now);
  void answered(Connection& connection, std::size_t bytes, Nanoseconds now);
  // The client has the whole answer.
  void finished(Connection& connection, Nanoseconds now);
  // Whether its next answer is to be its last.
  static bool is_worn(const Connection& connection, Nanoseconds now);

  // Whether any TLS handshake is in progress.
  bool has_handshake() const;
  // All, those that are cut included.
  std::size_t size() const { return all_.size(); }
  // Those that are not cut: all but the reserved ones, and of one client.
  std::size_t unreserved() const { return unreserved_; }
  std::size_t of_client(const ClientKey& client) const;
  // Whether one of root's own places is free for it.
  bool has_reserved(const ClientKey& client) const {
    return client.is_root() && reserved_ < kReserved;
  }
  // The next deadline; kNever: none.
  Nanoseconds next_deadline() const;
  // One past its deadline that is not cut yet.
  Connection* overdue(Nanoseconds now);
  struct Eviction {
    Connection* connection = nullptr;  // null: all are reserved, or of other clients
    bool is_idle = false;
    Nanoseconds grace{0};  // what it has left of kGrace
  };
  // The one to evict: of the client that holds most, the one that loses least by it. With `client`
  // only among its connections.
  Eviction to_evict(Nanoseconds now, const ClientKey* client = nullptr) const;
  // In a storm: one of the client that holds most, if that is more than `client` would hold then.
  // Null: `client` has its share.
  Connection* to_share(const ClientKey& client) const;
  // Whether any client holds several.
  bool has_client_with_several() const { return counts_.size() < unreserved_ + reserved_; }

 private:
  void uncount(const Connection& connection);

  const Limits limits_;
  std::vector<std::unique_ptr<Connection>> all_;
  std::map<ClientKey, std::size_t> counts_;  // of clients that have any
  std::size_t unreserved_ = 0;
  std::size_t reserved_ = 0;
};

}  // namespace jetmem
