// The past, with a limit on how often it is asked: the doctor runs on the daemon's web thread, and
// each question may read the disk.
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
};
using Values = std::vector<Value>;

class Past {
 public:
  // `history` may be null.
  Past(History* history, std::size_t questions) : history_(history), left_(questions) {}

  bool known() const { return history_ != nullptr; }
  std::size_t asked() const { return asked_; }
  // Why an answer is missing: the first error met, or that the limit was reached. Mostly empty.
  const std::string& trouble() const { return trouble_; }

  // Finite values of a series, oldest first; empty where there are none.
  Values series(const std::string& key, double from, double to, std::size_t most = 720);
  // Keys of all series of a metric.
  const std::vector<std::string>& keys(std::string_view family);
  // All series' values at or shortly before a moment.
  std::map<std::string, double> at(double wall, double patience);
  std::vector<EventRecord> events(double from, double to, std::vector<std::string> kinds,
                                  std::size_t most);
  const HistoryFacts* facts();

 private:
  bool may_ask();
  void lacks(const std::string& why);
  void failed(const Error& error);

  History* history_;
  std::size_t left_;
  std::size_t asked_ = 0;
  std::string trouble_;
  std::map<std::string, std::vector<std::string>, std::less<>> keys_;
  std::optional<HistoryFacts> facts_;
  bool facts_asked_ = false;
};

}  // namespace jetmem::doctor
