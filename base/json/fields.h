// SPDX-License-Identifier: Apache-2.0
// One list of a struct's fields, for both directions. A struct is made readable and writable by
//
//   void describe(json::Fields& v, Area& area) {
//     v("area", area.name);
//     v("bytes", area.bytes);  // std::optional: the key is omitted where there is no value
//   }
//
// A writer never changes the struct. It appends to a text: so describe() writes each key once, and
// into an object only while no object within it is being written. A reader takes what is of the
// right type; what is missing or of another type leaves the member as it is, unless it is
// required(): then the document is refused with the path of the field. In a file of jetmem's own
// (From::kFile) a member of another type is refused, required or not. Texts that are read are
// made printable(): any program may answer. A struct has one describe() in a program, as the
// templates here are shared; another form is a function that is given to list() or object().
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace jetmem::json {

constexpr std::size_t kMaxText = 4096;
// The largest answer that a client accepts.
constexpr std::size_t kMaxAnswer = 4U << 20;

class Fields;

template <class T>
concept Described = requires(Fields& v, T& value) {
  describe(v, value);
};

class Fields {
 public:
  using Key = const char*;
  template <class T>
  using Map = std::vector<std::pair<std::string, T>>;

  bool reading() const { return text_ == nullptr; }

  // Each returns whether the field is there, and of the right type.
  bool operator()(Key key, std::string& value);
  bool operator()(Key key, bool& value);
  bool operator()(Key key, int& value);
  bool operator()(Key key, double& value);
  bool operator()(Key key, std::int64_t& value);
  bool operator()(Key key, std::uint64_t& value);
  // In seconds. What is beyond kLastSecond is not there.
  bool operator()(Key key, Nanoseconds& value);
  // A number that is not finite is omitted, as JSON has none.
  bool operator()(Key key, std::optional<double>& value);
  template <class T>
  requires(!Described<T> && !std::same_as<T, double>) bool operator()(Key key,
                                                                      std::optional<T>& value) {
    if (!reading()) return value && (*this)(key, *value);
    T found{};
    if (!(*this)(key, found)) return false;
    value = std::move(found);
    return true;
  }
  bool operator()(Key key, std::vector<std::string>& value);
  bool operator()(Key key, std::vector<std::int64_t>& value);
  bool operator()(Key key, std::vector<std::uint32_t>& value);
  // Objects whose keys are data. A writer takes the keys to be distinct.
  bool operator()(Key key, Map<std::string>& value);
  bool operator()(Key key, Map<double>& value);
  bool operator()(Key key, Map<std::uint64_t>& value);
  template <Described T>
  bool operator()(Key key, T& value) {
    return object(key, [&](Fields& v) { describe(v, value); });
  }
  template <Described T>
  bool operator()(Key key, std::optional<T>& value) {
    if (reading() && has_object(key)) value.emplace();
    return value && (*this)(key, *value);
  }
  // Anything that is not an object, or that describe() skips, is not read.
  template <Described T>
  bool operator()(Key key, std::vector<T>& value) {
    return list(key, value, [](Fields& v, T& item) {
      if (v.reading() && !v.is_object() && !v.root_->is_file_) return v.drop();
      describe(v, item);
    });
  }

  // An object, or a row(), that is not a struct of its own. Where it is missing its required fields
  // are, too.
  template <class Describe>
  bool object(Key key, const Describe& fields) {
    const bool there = !reading() || has_object(key);
    Fields v(*this, key);
    fields(v);
    v.close();
    return there || v.is_closed_ || odd(key, at(key));
  }

  // A value that is written and never read back.
  template <class T>
  void output(Key key, T value) {
    if (!reading()) (*this)(key, value);
  }
  template <class T>
  void unless_empty(Key key, T& value) {
    if (reading() || !is_empty(value)) (*this)(key, value);
  }
  // Made printable() in both directions.
  void unless_empty(Key key, std::string& value);
  void unless_false(Key key, bool& value) {
    if (reading() || value) (*this)(key, value);
  }
  void null_if_empty(Key key, std::string& value);
  void null_if_absent(Key key, std::optional<double>& value);
  template <class T>
  void required(Key key, T& value) {
    if (!(*this)(key, value) && reading()) missing(key);
  }
  // Reading: whether it is null. A writer writes that where there is no value.
  bool is_null(Key key, bool has_value);
  template <class T>
  void required_or_null(Key key, std::optional<T>& value) {
    if (!is_null(key, value.has_value())) required(key, value ? *value : value.emplace());
  }
  // A time of the boot clock as a whole count of its unit, far from where counting with it would
  // end.
  template <class Rep, class Period>
  void required_count(Key key, std::chrono::duration<Rep, Period>& time, std::int64_t least = 0) {
    std::int64_t count = time.count();
    required(key, count);
    if (!reading()) return;
    if (count < least || count > INT64_MAX / 4) fail(key, "is no time");
    time = std::chrono::duration<Rep, Period>(count);
  }
  template <class T>
  void required_count_or_null(Key key, std::optional<T>& time, std::int64_t least = 0) {
    if (!is_null(key, time.has_value())) required_count(key, time ? *time : time.emplace(), least);
  }
  void required_text(Key key, std::string& value) {
    required(key, value);
    if (reading() && value.empty()) missing(key);
  }
  // Not made printable, because it is sent back unchanged.
  bool exact(Key key, std::string& value);
  bool exact(Key key, Map<std::string>& value);
  // Bit by bit; what is not finite is "NaN", "+Inf" or "-Inf".
  bool exact(Key key, double& value);
  template <class T>
  void required_exact(Key key, T& value) {
    if (!exact(key, value)) missing(key);
  }
  // Likewise, but null is `none`, known by its bits, and false another NaN.
  void required_exact(Key key, std::vector<double>& values, double none);
  // An enumeration by its names; a writer always writes it.
  template <class E>
  bool word(Key key, E& value, std::string_view (*name)(E),
            std::optional<E> (*named)(std::string_view)) {
    std::string text(reading() ? std::string_view() : name(value));
    if (!(*this)(key, text)) return false;
    if (!reading()) return true;
    const auto found = named(text);
    if (found) value = *found;
    return found.has_value();
  }
  // By the names of its values, in their order.
  template <class E>
  void required_word(Key key, E& value, std::span<const std::string_view> names) {
    std::string text(reading() ? std::string_view() : names[static_cast<std::size_t>(value)]);
    required(key, text);
    const auto found = std::find(names.begin(), names.end(), text);
    if (!reading()) return;
    if (found == names.end()) return missing(key);
    value = static_cast<E>(found - names.begin());
  }
  // Writing: this element is the JSON object in `text`, which is valid, and nothing else.
  void whole(const std::string& text);
  // A JSON object kept as text of at most `most` bytes; omitted where it is empty.
  void embedded(Key key, std::string& object, std::size_t most);
  // Absent reasons: "absent": {"key": "why"}, omitted where there are none.
  void absent(Map<std::string>& reasons);
  // A writer writes it; a reader refuses any other.
  void schema(std::string_view name);

  // A list of which as much is written as `most` bytes hold. Returns how many elements at the end
  // are omitted.
  template <class T>
  std::size_t list_within(Key key, std::vector<T>& value, std::size_t most) {
    return list_within(key, value, most, [](Fields& v, T& item) { describe(v, item); });
  }
  template <class T, class DescribeItem>
  std::size_t list_within(Key key, std::vector<T>& value, std::size_t most,
                          const DescribeItem& fields) {
    if (reading()) {
      if (!list(key, value, fields)) missing(key);
      return 0;
    }
    const std::size_t start = start_list(key);
    std::size_t written = 0;
    for (; written < value.size(); ++written) {
      const std::size_t before = text_->size();
      Fields v(*this, key, written);
      fields(v, value[written]);
      v.close();
      if (text_->size() - start <= most) continue;
      text_->resize(before);
      break;
    }
    end_list(written == 0);
    return value.size() - written;
  }
  template <class T, class DescribeItem>
  bool list(Key key, std::vector<T>& value, const DescribeItem& fields) {
    if (!reading()) {
      start_list(key);
      for (std::size_t i = 0; i < value.size(); ++i) {
        Fields v(*this, key, i);
        fields(v, value[i]);
        v.close();
      }
      end_list(value.empty());
      return true;
    }
    const auto found = list_size(key);
    for (std::size_t i = 0; i < found.value_or(0) && !failed(); ++i) {
      Fields v(*this, key, i);
      T item{};
      fields(v, item);
      if (!v.skipped_) value.push_back(std::move(item));
    }
    return found.has_value() || odd(key, at(key));
  }
  // Reading: nothing where it is no list.
  std::optional<std::size_t> list_size(Key key) const;
  // As many counts as there are; what has no room is left out. Refused if there are fewer than
  // `least`.
  void required_counts(Key key, std::span<std::uint64_t> values, std::size_t least);
  // An array of numbers and flags instead of an object.
  using Cell = std::variant<double*, std::int64_t*, std::uint64_t*, bool*>;
  void row(std::initializer_list<Cell> values);

  // Reading: this element is of a kind that only a newer jetmem knows; it is counted.
  void skip() {
    drop();
    count_newer();
  }
  void count_newer() { ++root_->newer_; }
  std::uint64_t newer() const { return root_->newer_; }
  // Reading: the document is refused. The first reason is kept.
  void fail(Key key, std::string_view why);
  // Reading: the document is refused, as this is missing or must not be what it is.
  void missing(Key key) { refuse(key, at(key)); }
  // Reading: this element does not join its list.
  void drop() { skipped_ = true; }
  bool failed() const { return root_->error_.has_value(); }
  const std::optional<Error>& error() const { return root_->error_; }

 private:
  friend class Document;
  Fields(Fields& parent, Key key);
  Fields(Fields& parent, Key key, std::size_t index);
  Fields(std::string* text, const nlohmann::json* in, int indent)
      : text_(text), in_(in), indent_(indent) {}

  static bool is_empty(const std::string& value) { return value.empty(); }
  template <class T>
  static bool is_empty(const std::vector<T>& value) {
    return value.empty();
  }
  static bool is_empty(std::uint64_t value) { return value == 0; }
  static bool is_empty(std::int64_t value) { return value == 0; }

  const nlohmann::json* at(Key key) const;
  bool is_object() const;
  bool has_object(Key key) const;
  void start_member(std::string_view key);
  template <class T>
  bool member(std::string_view key, const T& value);
  void put(nlohmann::ordered_json value, std::size_t depth);
  void new_line(std::size_t depth);
  void close();
  // Where its elements start in the text.
  std::size_t start_list(Key key);
  void end_list(bool is_empty);
  // What is there is of another type, and refused in a file. Always false.
  bool odd(Key key, const nlohmann::json* found);
  void refuse(Key key, const nlohmann::json* found);
  template <class T>
  bool array(Key key, std::vector<T>& value);
  std::string path() const;
  template <class T>
  bool map(Key key, Map<T>& value);

  // Writing: the document's text so far. No tree: that of a history answer's 160,000 numbers would
  // take twice its text in small blocks, whose holes stay in the daemon's heap.
  std::string* text_ = nullptr;
  std::size_t depth_ = 0;
  bool has_members_ = false;
  bool is_closed_ = false;

  const nlohmann::json* in_ = nullptr;  // null while reading: nothing is there
  Fields* parent_ = nullptr;
  Key key_ = "";
  std::optional<std::size_t> index_;
  bool skipped_ = false;
  // Of the document as a whole.
  Fields* root_ = this;
  bool is_file_ = false;
  int indent_ = 0;
  std::uint64_t newer_ = 0;
  std::optional<Error> error_;
};

// Drops what is not finite, and at the end what has no room in `most` bytes of JSON. Returns how
// many were dropped.
std::size_t keep_within(Fields::Map<double>& samples, std::size_t most);

using Describe = std::function<void(Fields&)>;
// `indent`: spaces a level, -1 for one line. Ends with a newline; bytes that are not UTF-8 are
// replaced.
std::string write_document(int indent, const Describe& fields);
// Who wrote it: another program, maybe of another version, or jetmem itself, in a file.
enum class From : std::uint8_t { kAnswer, kFile };
// Refuses what is larger than kMaxAnswer, nested too deeply, or not a JSON object.
Result<void> read_document(std::string_view text, const Describe& fields,
                           From from = From::kAnswer);

template <class T>
std::string write(const T& value, int indent = 1) {
  // describe() has one form for both directions; a writer only reads.
  return write_document(indent, [&](Fields& v) { describe(v, const_cast<T&>(value)); });
}

template <class T>
Result<T> read(std::string_view text, From from = From::kAnswer) {
  T out{};
  auto done = read_document(
      text, [&](Fields& v) { describe(v, out); }, from);
  if (!done) return tl::unexpected(std::move(done.error()));
  return out;
}

}  // namespace jetmem::json
