// How much memory answers take that clients have not read yet: what bounds it is this, not the
// number of connections, for an answer may be 4 MiB. The web thread's own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/access/client_key.h"

namespace jetmem {

class AnswerMemory {
 public:
  using Body = std::shared_ptr<const std::string>;

  static constexpr std::size_t kMost = 16U << 20;
  // Of one client, so that there is room for the others.
  static constexpr std::size_t kMostOfOne = 8U << 20;
  // Up to here an answer is always given, so that a scrape (compressed) never fails for want of it:
  // the number of connections bounds those.
  static constexpr std::size_t kSmall = 128U << 10;

  // An answer on its way; gives its share back when it goes. Must not outlive the memory.
  class Held {
   public:
    Held(AnswerMemory& memory, Body body, const ClientKey& client);
    ~Held();
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    const std::string& text() const { return *body_; }

   private:
    AnswerMemory& memory_;
    Body body_;
    ClientKey client_;
  };

  // Whether there is room for this answer to this client.
  bool has_room(const Body& body, const ClientKey& client) const;
  // Each body once, however many read it.
  std::size_t bytes() const;

 private:
  struct Entry {
    const std::string* body;
    ClientKey client;
  };

  std::vector<Entry> entries_;
};

}  // namespace jetmem
