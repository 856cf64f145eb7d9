// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/response_memory.h"

#include <algorithm>
#include <set>
#include <utility>

namespace jetmem {

AnswerMemory::Held::Held(AnswerMemory& memory, Body body, const ClientKey& client)
    : memory_(memory), body_(std::move(body)), client_(client) {
  memory_.entries_.push_back({body_.get(), client_});
}

AnswerMemory::Held::~Held() {
  auto& entries = memory_.entries_;
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const Entry& each) {
    return each.body == body_.get() && each.client == client_;
  });
  if (at == entries.end()) return;
  *at = entries.back();
  entries.pop_back();
}

bool AnswerMemory::has_room(const Body& body, const ClientKey& client) const {
  if (!body || body->size() <= kSmall || entries_.empty()) return true;
  const std::size_t most =
      kMost + (client.is_local() ? kMostLocal : 0) + (client.is_root() ? kMostLocal : 0);
  return bytes_with(body.get(), nullptr) <= most && bytes_with(body.get(), &client) <= kMostOfOne;
}

std::size_t AnswerMemory::bytes_with(const std::string* body, const ClientKey* client) const {
  std::set<const std::string*> all;
  if (body != nullptr) all.insert(body);
  for (const Entry& each : entries_) {
    if (client == nullptr || each.client == *client) all.insert(each.body);
  }
  std::size_t bytes = 0;
  for (const std::string* const each : all) bytes += each->size();
  return bytes;
}

}  // namespace jetmem
