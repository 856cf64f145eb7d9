// SPDX-License-Identifier: Apache-2.0
// Bounds the memory of answers that clients have not read yet; the number of connections does not,
// because an answer may be 4 MiB. The web thread's own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/http/access/client_key.h"

namespace jetmem {

class AnswerMemory {
 public:
  using Body = std::shared_ptr<const std::string>;

  static constexpr std::size_t kMost = 16U << 20;
  // On top of that, in turn, for local clients and for root: clients over TCP cannot fill it all.
  static constexpr std::size_t kMostLocal = 4U << 20;
  // Of one client, so that there is room for the others.
  static constexpr std::size_t kMostOfOne = 8U << 20;
  // An answer up to this size is always sent, so that a compressed scrape never fails; the number
  // of connections bounds those.
  static constexpr std::size_t kSmall = 128U << 10;

  // An answer being sent; its share is free again when it is destroyed. Must not outlive the
  // memory.
  class Held {
   public:
    Held(AnswerMemory& memory, Body body, const ClientKey& client);
    ~Held();
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    AnswerMemory& memory_;
    Body body_;
    ClientKey client_;
  };

  bool has_room(const Body& body, const ClientKey& client) const;
  // Each body counts once, however many clients read it.
  std::size_t bytes() const { return bytes_with(nullptr, nullptr); }

 private:
  struct Entry {
    const std::string* body;
    ClientKey client;
  };

  // Of one client if not null, and of one more body if not null.
  std::size_t bytes_with(const std::string* body, const ClientKey* client) const;

  std::vector<Entry> entries_;
};

}  // namespace jetmem
