// SPDX-License-Identifier: Apache-2.0
// Shares the time of the history worker among clients, so that queries, whose cost the client
// chooses, neither load the device nor shut out other clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/clock.h"
#include "daemon/http/access/client_key.h"

namespace jetmem {

// What kind of question it is, as far as its cost can be known beforehand.
enum class QueryCost : std::uint8_t {
  kOwn,    // made once for all clients, and paced by what it costs: no budget
  kLight,  // events, the list of series, a moment
  kHeavy,  // points of series
};

// Not for several threads.
class QueryBudget {
 public:
  // Of the worker's time, at once and in the long run: of one client, and of all together.
  static constexpr Nanoseconds kMostOfClient = std::chrono::seconds(2);
  static constexpr int kPartOfClient = 8;  // an eighth
  static constexpr Nanoseconds kMostOfAll = std::chrono::seconds(4);
  static constexpr int kPartOfAll = 4;
  // How far light questions may go beyond what is left to all, when heavy ones have used it up.
  static constexpr Nanoseconds kForLight = std::chrono::seconds(4);
  // Clients whose use is remembered; of more, the one that used least is forgotten.
  static constexpr std::size_t kMostClients = 256;

  // Root needs only its own share.
  bool may_spend(const ClientKey& client, QueryCost cost, Nanoseconds now);
  void spent(const ClientKey& client, QueryCost cost, Nanoseconds time);
  // What a client has used of its share.
  Nanoseconds used(const ClientKey& client) const;

 private:
  struct Account {
    Nanoseconds used{0};
    Nanoseconds last{0};
    void earn(Nanoseconds now, int part);
  };
  Account& account_of(const ClientKey& client, Nanoseconds now);

  Account all_;
  std::map<ClientKey, Account> accounts_;
};

}  // namespace jetmem
