// The connections of one address: in which phase each is, until when it must have come further, and
// who gives way when all are taken. The web thread's own; what is cut is the caller's to cut.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "daemon/access/access_rules.h"
#include "daemon/access/client_key.h"
#include "daemon/access/tls_server.h"

struct MHD_Connection;

namespace jetmem {

struct Connection {
  enum class Phase : std::uint8_t {
    kRequest,  // its request, and with TLS its handshake, is not complete
    kAsked,    // we are at work for it
    kAnswer,   // it has not taken all of its answer
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
  std::shared_ptr<const TlsServer> tls;  // null: plain
  Handshake handshake;
};

class Connections {
 public:
  static constexpr Nanoseconds kNever = Nanoseconds::max();
  // So slow a reader is still one: a long answer's deadline is later by this much.
  static constexpr std::uint64_t kSlowestReader = 32U << 10;  // bytes a second
  // Whoever has asked nothing for so long may have to go when all connections are taken, and
  // whoever has not taken an answer for so long.
  static constexpr Nanoseconds kMayGo = std::chrono::milliseconds(500);
  static constexpr Nanoseconds kReaderMayGo = std::chrono::seconds(3);
  // A connection that was kept for so long, or for so many requests, ends with its next answer.
  static constexpr Nanoseconds kMostKept = std::chrono::hours(1);
  static constexpr std::uint32_t kMostRequests = 10'000;

  struct Limits {
    Nanoseconds request{0};  // from its beginning
    Nanoseconds idle{0};     // between two requests, beside that
  };
  explicit Connections(Limits limits) : limits_(limits) {}

  Connection& open(MHD_Connection* handle, int fd, const ClientKey& client, Nanoseconds now);
  void close(const Connection* connection);

  void asked(Connection& connection, Nanoseconds now);
  void answered(Connection& connection, std::size_t bytes, Nanoseconds now);
  // The client has the whole answer.
  void finished(Connection& connection, Nanoseconds now);
  // Whether its next answer is to be its last.
  static bool is_worn(const Connection& connection, Nanoseconds now);

  // Whether a TLS handshake is on its way.
  bool has_handshake() const;
  std::size_t of_client(const ClientKey& client) const;
  // The next deadline; kNever where there is none.
  Nanoseconds next_deadline() const;
  // One whose deadline is over and that is not cut yet.
  Connection* overdue(Nanoseconds now);
  // Who goes first when all are taken: of the client that has most, whoever has done nothing for
  // longest. Null: nobody may have to go before may_go_at().
  Connection* to_make_room(Nanoseconds now);
  // The same among those of one client, that has as many as it may.
  Connection* to_make_room_of(const ClientKey& client, Nanoseconds now);
  Nanoseconds may_go_at() const;

 private:
  static Nanoseconds may_go_at(const Connection& connection);

  const Limits limits_;
  std::vector<std::unique_ptr<Connection>> all_;
};

}  // namespace jetmem
