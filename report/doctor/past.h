// SPDX-License-Identifier: Apache-2.0
// The history, with a limit of queries: in the daemon the doctor runs on the history's query
// worker, and each query may read the disk.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "history/history.h"

namespace jetmem::doctor {

struct Value {
  double time = 0;  // seconds since 1970
  double value = 0;
  double min = 0;
  double max = 0;
  double step = 0;  // seconds that a roll-up stands for; 0: as it was recorded
};
using Values = std::vector<Value>;

class Past {
 public:
  // `history` may be null.
  Past(History* history, std::size_t questions) : history_(history), left_(questions) {}

  bool known() const { return history_ != nullptr; }
  std::size_t requested() const { return requested_; }
  // Why an answer is missing: the first error, or the limit of queries. Usually empty.
  const std::string& problem() const { return problem_; }

  // Finite values of a series, oldest first; empty where there are none.
  Values series(const std::string& key, double from, double to, std::size_t most = 720);
  // Keys of all series of a metric.
  const std::vector<std::string>& keys(std::string_view family);
  // All series' values at or shortly before a moment.
  std::map<std::string, double> at(double wall, double timeout);
  std::vector<EventRecord> events(double from, double to, std::vector<std::string> kinds,
                                  std::size_t most);
  const HistoryFacts* facts();

 private:
  bool may_query();
  void lacks(const std::string& why);
  void failed(const Error& error);

  History* history_;
  std::size_t left_;
  std::size_t requested_ = 0;
  std::string problem_;
  std::map<std::string, std::vector<std::string>, std::less<>> keys_;
  std::optional<HistoryFacts> facts_;
  bool facts_queried_ = false;
};

}  // namespace jetmem::doctor
