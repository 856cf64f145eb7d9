// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/api/query_budget.h"

#include <algorithm>

namespace jetmem {

void QueryBudget::Account::earn(Nanoseconds now, int part) {
  if (now > last) used = std::max(Nanoseconds(0), used - (now - last) / part);
  last = now;
}

QueryBudget::Account& QueryBudget::account_of(const ClientKey& client, Nanoseconds now) {
  if (const auto known = accounts_.find(client); known != accounts_.end()) return known->second;
  if (accounts_.size() >= kMostClients) {
    for (auto& [key, account] : accounts_) account.earn(now, kPartOfClient);
    accounts_.erase(std::min_element(
        accounts_.begin(), accounts_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  return accounts_.emplace(client, Account{Nanoseconds(0), now}).first->second;
}

bool QueryBudget::may_spend(const ClientKey& client, QueryCost cost, Nanoseconds now) {
  if (cost == QueryCost::kOwn) return true;
  Account& own = account_of(client, now);
  own.earn(now, kPartOfClient);
  all_.earn(now, kPartOfAll);
  if (own.used >= kMostOfClient) return false;
  if (client.is_root()) return true;
  return all_.used < kMostOfAll + (cost == QueryCost::kLight ? kForLight : Nanoseconds(0));
}

void QueryBudget::spent(const ClientKey& client, QueryCost cost, Nanoseconds time) {
  all_.used += time;
  if (cost == QueryCost::kOwn) return;
  account_of(client, all_.last).used += time;
}

Nanoseconds QueryBudget::used(const ClientKey& client) const {
  const auto known = accounts_.find(client);
  return known == accounts_.end() ? Nanoseconds(0) : known->second.used;
}

}  // namespace jetmem
