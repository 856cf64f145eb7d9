// SPDX-License-Identifier: Apache-2.0
// Runs one source on literal kernel text, through the same parse and write as the daemon.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <initializer_list>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/root/root.h"
#include "base/root/snapshot.h"
#include "collectors/source.h"
#include "metrics/sample.h"
#include "tests/temp_dir.h"

namespace jetmem {

inline std::uint64_t count_of(const AbsentValues& absent, std::string_view reason) {
  for (const AbsentValues::Count& entry : absent.counts()) {
    if (entry.reason == reason) return entry.count;
  }
  return 0;
}

// "malformed 1, impossible 2", by reason.
inline std::string absent_text(const AbsentValues& absent) {
  std::map<std::string_view, std::uint64_t> counts;
  for (const auto& each : absent.counts()) counts[each.reason] += each.count;
  std::string out;
  for (const auto& [reason, count] : counts) {
    if (count == 0) continue;
    out += (out.empty() ? "" : ", ") + std::string(reason) + " " + std::to_string(count);
  }
  return out;
}

// Writes each of "leaf=text leaf=text", files of one line without spaces.
template <class Write>
void each_file(const std::string& files, Write write) {
  std::istringstream words(files);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    ASSERT_NE(equals, word.npos) << word;
    write(word.substr(0, equals), word.substr(equals + 1) + "\n");
  }
}

template <class S>
class SourceFixture {
 public:
  template <class... Of>
  requires std::constructible_from<S, Of&...>
  explicit SourceFixture(Of&... of) : source(of...) {
    facts.page_size = 4096;
    section_ = table.add_section(std::string(S::kInfo.name));
  }
  SourceFixture(std::string_view path, std::string_view text) : SourceFixture() {
    file(path, text);
  }

  void file(std::string_view path, std::string_view text) { add(path, text, 0); }
  // As each_file() takes them.
  void files(const std::string& folder, const std::string& texts) {
    each_file(texts, [&](const auto& leaf, const auto& text) { file(folder + leaf, text); });
  }
  void error(std::string_view path, int error) { add(path, {}, error); }
  void clear() {
    snapshot_.clear();
    has_run_ = false;
  }
  // This file in place of all before.
  void only(std::string_view path, std::string_view text) {
    clear();
    file(path, text);
  }

  // Of another source, in the order in which they were added to `readings`.
  void set_valid(std::size_t reading, bool valid) {
    readings.set_valid(reading, valid);
    has_run_ = false;
  }

  // What is looked at below runs by itself when something was given since it last ran.
  Result<void> run(Nanoseconds read_time = {}) {
    has_run_ = true;
    auto ok = source.parse(snapshot_, read_time);
    if (!ok) return ok;
    absent.reset();
    if (const auto* of_reading = source.absent()) absent.add(*of_reading);
    awake_ += std::chrono::minutes(1);
    WriteContext context{facts, readings, absent, now, awake_};
    SampleWriter writer(table, section_, now);
    source.write(writer, context);
    return {};
  }

  // One series' value; NaN when there is no such series. Labels need no quotes:
  // "x_bytes{zone=dma}".
  double value(std::string_view key) {
    run_if_needed();
    return table.value_of(quoted(key));
  }
  bool has(std::string_view key) { return !std::isnan(value(key)); }
  // Of each name's series the value: `pattern` with the name in its '*''s place, or at its end, and
  // `labels` behind that. "used=4096 free=16*4096 swap=none": a number, a product, or there is no
  // such series.
  void expect(std::string_view pattern, const std::string& values, const std::string& labels = {}) {
    std::istringstream words(values);
    for (std::string word; words >> word;) {
      const std::size_t equals = word.rfind('=');
      std::string key(pattern);
      const std::size_t star = std::min(key.find('*'), key.size());
      key.replace(star, star < key.size() ? 1 : 0, word, 0, equals);
      key += labels;
      const std::string expected = word.substr(equals + 1);
      if (expected == "none") {
        EXPECT_FALSE(has(key)) << key << " is " << value(key);
        continue;
      }
      double product = 1;
      std::istringstream factors(expected);
      for (std::string factor; std::getline(factors, factor, '*');) {
        std::size_t read = 0;
        product *= std::stod(factor, &read);
        EXPECT_EQ(read, factor.size()) << word;
      }
      EXPECT_DOUBLE_EQ(value(key), product) << key;
    }
    EXPECT_FALSE(values.empty());
  }
  const auto& reading() {
    run_if_needed();
    return source.reading();
  }
  // Runs once before.
  double sample(std::string_view key) {
    const auto ok = run();
    return ok ? value(key) : std::nan("");
  }
  // How many values the last run left out for this reason.
  std::uint64_t absent_for(std::string_view reason) {
    run_if_needed();
    return count_of(absent, reason);
  }
  // All that the last run left out.
  std::string all_absent() {
    run_if_needed();
    return absent_text(absent);
  }
  // What parsing fails with where there is nothing but this path, which cannot be read.
  Errc code_with(std::string_view path, int number) {
    clear();
    error(path, number);
    const auto ok = run();
    EXPECT_FALSE(ok) << path;
    return ok ? Errc::kInvalid : ok.error().code;
  }
  // The message of the error that parsing gives, or "no error".
  std::string error_message() {
    const auto ok = run();
    return ok ? "no error" : ok.error().message;
  }
  std::vector<std::string> keys() {
    run_if_needed();
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
  void add(std::string_view path, std::string_view text, int error) {
    snapshot_.add(path, text, error);
    has_run_ = false;
  }
  void run_if_needed() {
    if (has_run_) return;
    const auto ok = run();
    EXPECT_TRUE(ok) << ok.error().message;
  }
  static std::string quoted(std::string_view key) {
    std::string out;
    const bool is_bare = key.find('"') == std::string_view::npos;
    for (const char c : key) {
      if (is_bare && (c == '}' || c == ',')) out += '"';
      out += c;
      if (is_bare && c == '=') out += '"';
    }
    return out;
  }

  Snapshot snapshot_;
  std::size_t section_ = 0;
  bool has_run_ = true;
  Nanoseconds awake_{0};
};

// Texts of a file of one number that hold none: cut, with more in them, of another form, too large.
inline std::vector<std::string_view> no_numbers(std::initializer_list<std::string_view> more = {}) {
  std::vector<std::string_view> out{"",
                                    "\n",
                                    "3942",
                                    "47.2\n",
                                    "47000\r\n",
                                    "47000 C\n",
                                    "12 13\n",
                                    "12\n3",
                                    "1500 mA\n",
                                    "0x1000\n",
                                    "-\n",
                                    "<unknown>\n",
                                    "99999999999999999999\n"};
  for (const std::string_view bytes : {std::string_view("\0\x01\xff", 3), {"\0\xff\n", 3}}) {
    out.push_back(bytes);
  }
  out.insert(out.end(), more);
  return out;
}

// What a source reads below a directory, as in the daemon.
template <class S>
class TreeReader {
 public:
  explicit TreeReader(const std::string& directory, ReadLimits limits = S::kInfo.limits,
                      Gather gather = S::kInfo.gather)
      : root(Root::at(directory).value()), reader_(S::kInfo.paths, limits, gather) {}
  const Snapshot& read() { return reader_.read(root); }

  const Root root;

 private:
  SnapshotReader reader_;
};

template <class S>
class SourceTest : public testing::Test {
 protected:
  double value(std::string_view key) { return fixture.value(key); }
  bool has(std::string_view key) { return fixture.has(key); }
  std::uint64_t absent(std::string_view reason) { return fixture.absent_for(reason); }
  std::string all_absent() { return fixture.all_absent(); }
  const auto& reading() { return fixture.reading(); }
  void expect(std::string_view pattern, const std::string& values) {
    fixture.expect(pattern, values);
  }

  SourceFixture<S> fixture;
};

// What a source reads of files below a directory.
template <class S>
class TreeTest : public testing::Test {
 protected:
  void file(const std::string& path, std::string_view text) { dir.write(path.substr(1), text); }
  // As each_file() takes them.
  void files(const std::string& folder, const std::string& texts) {
    each_file(texts, [&](const auto& leaf, const auto& text) { file(folder + leaf, text); });
  }
  const Snapshot& read(ReadLimits limits = S::kInfo.limits, Gather gather = S::kInfo.gather) {
    reader_.emplace(dir.path(), limits, gather);
    return reader_->read();
  }
  static std::vector<std::string> paths_of(const Snapshot& snapshot) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < snapshot.size(); ++i) out.emplace_back(snapshot[i].path);
    return out;
  }

  TempDir dir;

 private:
  std::optional<TreeReader<S>> reader_;
};

}  // namespace jetmem
