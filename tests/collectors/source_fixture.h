// Runs one source on literal kernel text, through the same parse and write as the daemon.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "base/sample.h"
#include "base/snapshot.h"
#include "collectors/source.h"

namespace jetmem {

template <class S>
class SourceFixture {
 public:
  SourceFixture() {
    facts.page_size = 4096;
    section_ = table.add_section(std::string(S::kInfo.name));
  }

  void file(std::string_view path, std::string_view text) { snapshot_.add(path, text, 0); }
  void error(std::string_view path, int error) { snapshot_.add(path, {}, error); }
  void clear() { snapshot_.clear(); }

  Result<void> run(Nanoseconds read_time = {}) {
    auto ok = source.parse(snapshot_, read_time);
    if (!ok) return ok;
    absent.reset();
    WriteContext context{facts, readings, absent};
    SampleWriter writer(table, section_, now);
    source.write(writer, context);
    return {};
  }

  // Runs once and gives one series' value; NaN when there is no such series.
  double sample(std::string_view key) {
    const auto ok = run();
    return ok ? table.value_of(key) : std::nan("");
  }
  // The message of the error that parsing gives, or "no error".
  std::string error_message() {
    const auto ok = run();
    return ok ? "no error" : ok.error().message;
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> out;
    for (const auto& slot : table.sections()[section_].slots) out.push_back(slot.key);
    return out;
  }

  S source;
  Facts facts;
  Readings readings;
  AbsentValues absent;
  SampleTable table;
  Nanoseconds now{std::chrono::hours(1)};

 private:
  Snapshot snapshot_;
  std::size_t section_ = 0;
};

}  // namespace jetmem
