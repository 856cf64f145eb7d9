#include "daemon/access/answer_memory.h"

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
  if (!body || body->size() <= kSmall) return true;
  // Each body once, with the new one among them.
  std::set<const std::string*> all{body.get()};
  std::set<const std::string*> of_client{body.get()};
  std::size_t bytes = body->size();
  std::size_t bytes_of_client = body->size();
  for (const Entry& each : entries_) {
    if (all.insert(each.body).second) bytes += each.body->size();
    if (each.client != client) continue;
    if (of_client.insert(each.body).second) bytes_of_client += each.body->size();
  }
  if (all.size() == 1) return true;  // alone: whatever its size
  return bytes <= kMost && bytes_of_client <= kMostOfOne;
}

std::size_t AnswerMemory::bytes() const {
  std::set<const std::string*> all;
  std::size_t bytes = 0;
  for (const Entry& each : entries_) {
    if (all.insert(each.body).second) bytes += each.body->size();
  }
  return bytes;
}

}  // namespace jetmem
