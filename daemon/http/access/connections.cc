// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/connections.h"

#include <algorithm>

namespace jetmem {

Connection& Connections::open(MHD_Connection* handle, int fd, const ClientKey& client,
                              Nanoseconds now) {
  Connection& out = *all_.emplace_back(std::make_unique<Connection>());
  out.handle = handle;
  out.fd = fd;
  out.client = client;
  out.opened = now;
  out.since = now;
  out.deadline = now + limits_.request;
  return out;
}

void Connections::close(const Connection* connection) {
  const auto at = std::find_if(all_.begin(), all_.end(),
                               [&](const auto& each) { return each.get() == connection; });
  if (at == all_.end()) return;
  std::swap(*at, all_.back());
  all_.pop_back();
}

void Connections::requested(Connection& connection, Nanoseconds now) {
  connection.phase = Connection::Phase::kRequested;
  connection.since = now;
  connection.deadline = kNever;
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
  return static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [&](const auto& each) {
    return each->client == client && !each->is_cut;
  }));
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

Connection* Connections::to_evict(Nanoseconds now, const ClientKey* client) {
  Connection* out = nullptr;
  std::size_t count = 0;
  for (const auto& each : all_) {
    if (closable_at(*each) > now || (client != nullptr && each->client != *client)) continue;
    const std::size_t of_same = of_client(each->client);
    if (out != nullptr && (of_same < count || (of_same == count && each->since >= out->since))) {
      continue;
    }
    out = each.get();
    count = of_same;
  }
  return out;
}

Nanoseconds Connections::closable_at(const Connection& connection) {
  if (connection.is_cut || connection.phase == Connection::Phase::kRequested) return kNever;
  return connection.since +
         (connection.phase == Connection::Phase::kRequest ? kMayClose : kReaderMayExit);
}

Nanoseconds Connections::closable_at() const {
  Nanoseconds out = kNever;
  for (const auto& each : all_) out = std::min(out, closable_at(*each));
  return out;
}

}  // namespace jetmem
