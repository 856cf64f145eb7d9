// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/connections.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace jetmem {
namespace {

// From what a client loses least by to what it loses most by.
enum class Loss : std::uint8_t {
  kIdle,       // it does nothing, or reads too slowly
  kKept,       // between two requests
  kNew,        // no request yet, but it is young
  kAnswer,     // its answer
  kRequested,  // its request, which waits for the history or its password
};

Loss loss_of(const Connection& connection, Nanoseconds now) {
  const Nanoseconds age = now - connection.since;
  switch (connection.phase) {
    case Connection::Phase::kRequest:
      if (age >= Connections::kMayClose) return Loss::kIdle;
      return connection.requests > 0 ? Loss::kKept : Loss::kNew;
    case Connection::Phase::kAnswer:
      return age >= Connections::kReaderMayExit ? Loss::kIdle : Loss::kAnswer;
    case Connection::Phase::kRequested:
      break;
  }
  return Loss::kRequested;
}

}  // namespace

bool Storm::lasts(Nanoseconds now, bool one_is_idle) {
  if (now - seen_ > (lasts_ ? kEnds : kPause)) {
    lasts_ = false;
    began_ = now;
  }
  if (lasts_ || !one_is_idle) seen_ = now;
  lasts_ = lasts_ || (!one_is_idle && now - began_ >= kLasts);
  return lasts_;
}

Connection& Connections::open(MHD_Connection* handle, int fd, const ClientKey& client,
                              Nanoseconds now) {
  Connection& out = *all_.emplace_back(std::make_unique<Connection>());
  out.handle = handle;
  out.fd = fd;
  out.client = client;
  out.opened = now;
  out.since = now;
  out.deadline = now + limits_.request;
  out.is_reserved = has_reserved(client);
  ++(out.is_reserved ? reserved_ : unreserved_);
  ++counts_[client];
  return out;
}

void Connections::uncount(const Connection& connection) {
  --(connection.is_reserved ? reserved_ : unreserved_);
  const auto count = counts_.find(connection.client);
  if (--count->second == 0) counts_.erase(count);
}

void Connections::cut(Connection& connection) {
  if (std::exchange(connection.is_cut, true)) return;
  uncount(connection);
}

void Connections::close(const Connection* connection) {
  const auto at = std::find_if(all_.begin(), all_.end(),
                               [&](const auto& each) { return each.get() == connection; });
  if (at == all_.end()) return;
  if (!connection->is_cut) uncount(*connection);
  std::swap(*at, all_.back());
  all_.pop_back();
}

void Connections::requested(Connection& connection, Nanoseconds now) {
  connection.phase = Connection::Phase::kRequested;
  connection.since = now;
  connection.deadline = kNever;
  connection.in_headers = false;
  ++connection.requests;
}

void Connections::answered(Connection& connection, std::size_t bytes, Nanoseconds now) {
  connection.phase = Connection::Phase::kAnswer;
  connection.since = now;
  connection.deadline = now + limits_.request + std::chrono::seconds(bytes / kSlowestReader);
}

void Connections::finished(Connection& connection, Nanoseconds now) {
  connection.phase = Connection::Phase::kRequest;
  connection.since = now;
  // libmicrohttpd closes a silent connection; this also ends one that trickles.
  connection.deadline = now + limits_.idle + limits_.request;
}

bool Connections::is_worn(const Connection& connection, Nanoseconds now) {
  return connection.requests >= kMostRequests || now - connection.opened >= kMaxKept;
}

bool Connections::has_handshake() const {
  return std::any_of(all_.begin(), all_.end(),
                     [](const auto& each) { return each->in_handshake() && !each->is_cut; });
}

std::size_t Connections::of_client(const ClientKey& client) const {
  const auto count = counts_.find(client);
  return count == counts_.end() ? 0 : count->second;
}

Nanoseconds Connections::next_deadline() const {
  Nanoseconds out = kNever;
  for (const auto& each : all_) {
    if (!each->is_cut) out = std::min(out, each->deadline);
  }
  return out;
}

Connection* Connections::overdue(Nanoseconds now) {
  for (const auto& each : all_) {
    if (!each->is_cut && each->deadline <= now) return each.get();
  }
  return nullptr;
}

Connections::Eviction Connections::to_evict(Nanoseconds now, const ClientKey* client) const {
  Eviction out;
  // Compared in this order: more connections of its client, less lost, longer so. What is in use
  // goes by the age of the connection, so that one that came for a single request gets its answer.
  std::tuple<std::size_t, int, Nanoseconds> best;
  for (const auto& each : all_) {
    if (each->is_cut || each->is_reserved) continue;
    if (client != nullptr && each->client != *client) continue;
    const Loss loss = loss_of(*each, now);
    const Nanoseconds begin =
        loss == Loss::kIdle || loss == Loss::kKept ? each->since : each->opened;
    const std::tuple rank(std::max(of_client(each->client), kFew), -static_cast<int>(loss),
                          now - begin);
    if (out.connection != nullptr && rank <= best) continue;
    const bool has_grace = loss >= Loss::kNew && of_client(each->client) <= kFew;
    out = {each.get(), loss == Loss::kIdle,
           has_grace ? std::max(Nanoseconds(0), each->opened + kGrace - now) : Nanoseconds(0)};
    best = rank;
  }
  return out;
}

Connection* Connections::to_share(const ClientKey& client) const {
  Connection* out = nullptr;
  std::pair<std::size_t, Nanoseconds> best;
  for (const auto& each : all_) {
    if (each->is_cut || each->is_reserved) continue;
    const std::pair rank(of_client(each->client), -each->opened);
    if (out != nullptr && rank <= best) continue;
    out = each.get();
    best = rank;
  }
  return out != nullptr && best.first > of_client(client) + 1 ? out : nullptr;
}

}  // namespace jetmem
