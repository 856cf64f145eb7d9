// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/connections.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <utility>

namespace jetmem {

bool Connection::has_unread() const {
  int unread = 0;
  return ::ioctl(fd, SIOCOUTQ, &unread) == 0 && unread > 0;
}

Connection& Connections::open(MHD_Connection* handle, int fd, const ClientKey& client,
                              Nanoseconds now) {
  Connection& out = *all_.emplace_back(std::make_unique<Connection>());
  out.handle = handle;
  out.fd = fd;
  out.client = client;
  out.since = now;
  out.deadline = now + timeout_;
  return out;
}

void Connections::close(const Connection* connection) {
  std::erase_if(all_, [&](const auto& each) { return each.get() == connection; });
}

void Connections::requested(Connection& connection) {
  connection.phase = Connection::Phase::kRequested;
  connection.deadline = Connection::kNever;
  connection.in_headers = false;
}

void Connections::answered(Connection& connection, std::size_t bytes, Nanoseconds now) {
  connection.phase = Connection::Phase::kAnswer;
  connection.since = now;
  connection.deadline = now + timeout_ + std::chrono::seconds(bytes / kSlowestReader);
}

void Connections::finished(Connection& connection, Nanoseconds now) {
  connection.phase = Connection::Phase::kRequest;
  connection.since = now;
  connection.deadline = now + timeout_;
  connection.is_kept = true;
}

bool Connections::has_handshake() const {
  return std::any_of(all_.begin(), all_.end(),
                     [](const auto& each) { return each->in_handshake() && !each->is_cut; });
}

std::size_t Connections::count(const ClientKey* client) const {
  return static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [&](const auto& each) {
    return !each->is_cut && (client == nullptr || each->client == *client);
  }));
}

Connection* Connections::oldest_idle(const ClientKey* client) const {
  Connection* out = nullptr;
  for (const auto& each : all_) {
    if (each->is_cut || each->phase != Connection::Phase::kRequest) continue;
    if (client != nullptr && each->client != *client) continue;
    if (out != nullptr && each->since >= out->since) continue;
    if (!each->has_unread()) out = each.get();
  }
  return out;
}

}  // namespace jetmem
