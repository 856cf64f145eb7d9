// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/process/bounded_child.h"
#include "history/format/bytes.h"
#include "history/store/store.h"

namespace jetmem {
namespace {

// What passes between the two processes. One list of members for both directions.
template <class Io>
void members(Io& io, HistoryPoint& v) {
  io(v.wall, v.boot_time, v.boot, v.wall_trusted, v.resolution, v.count, v.min, v.average, v.max);
}
template <class Io>
void members(Io& io, SeriesPast& v) {
  io(v.key, v.is_counter, v.points, v.cut, v.problem);
}
template <class Io>
void members(Io& io, SeriesKnown& v) {
  io(v.key, v.is_counter, v.first, v.last);
}
template <class Io>
void members(Io& io, EventRecord& v) {
  io(v.id, v.what, v.kind, v.severity, v.origin, v.subject, v.summary, v.fields, v.boot, v.at,
     v.wall, v.wall_trusted, v.count, v.until);
}
template <class Io>
void members(Io& io, EventsPast& v) {
  io(v.events, v.more, v.problem, v.boot);
}
template <class Io>
void members(Io& io, BootKnown& v) {
  io(v.number, v.boot_id, v.first_wall, v.last_wall, v.wall_trusted);
}
template <class Io>
void members(Io& io, HistoryFacts& v) {
  io(v.location, v.bytes, v.series, v.events, v.oldest, v.newest, v.raw_step, v.schema, v.boots,
     v.problem);
}
template <class Io, class A, class B>
void members(Io& io, std::pair<A, B>& v) {
  io(v.first, v.second);
}

constexpr std::uint64_t last_of(EventWhat) { return static_cast<std::uint64_t>(EventWhat::kGuess); }
constexpr std::uint64_t last_of(Resolution) {
  return static_cast<std::uint64_t>(Resolution::kQuarter);
}

// Writes, or reads what a child wrote whose libraries somebody may have taken over: no number is
// trusted.
template <bool kWrites>
class Wire {
 public:
  explicit Wire(std::string_view bytes = {}) : bytes_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    (one(values), ...);
  }
  std::string take() { return std::move(out_); }
  bool is_whole() const { return !failed_ && bytes_.empty(); }

 private:
  void number(std::uint64_t& value) {
    if constexpr (kWrites) {
      put_varint(value, out_);
    } else if (failed_ || !take_varint(bytes_, value)) {
      failed_ = true;
      value = 0;
    }
  }
  template <class T>
  void one(T& value) {
    if constexpr (std::is_same_v<T, double>) {
      auto raw = std::bit_cast<std::uint64_t>(value);
      number(raw);
      value = std::bit_cast<double>(raw);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      auto raw = static_cast<std::uint64_t>(value);
      number(raw);
      if constexpr (std::is_enum_v<T>) failed_ = failed_ || raw > last_of(T());
      if (!failed_) value = static_cast<T>(raw);
    } else {
      members(*this, value);
    }
  }
  void one(Nanoseconds& value) {
    std::int64_t count = value.count();
    one(count);
    value = Nanoseconds(count);
  }
  void one(std::string& text) {
    std::uint64_t size = text.size();
    number(size);
    if constexpr (kWrites) {
      out_ += text;
    } else {
      failed_ = failed_ || size > bytes_.size();
      if (failed_) return;
      text = bytes_.substr(0, size);
      bytes_.remove_prefix(size);
    }
  }
  template <class T>
  void one(std::optional<T>& value) {
    bool has_value = value.has_value();
    one(has_value);
    if (has_value) one(kWrites ? *value : value.emplace());
  }
  template <class T>
  void one(std::vector<T>& values) {
    std::uint64_t size = values.size();
    number(size);
    // Each takes a byte at least.
    for (std::uint64_t i = 0; i < size && !failed_ && (kWrites || !bytes_.empty()); ++i) {
      one(kWrites ? values[i] : values.emplace_back());
    }
    failed_ = failed_ || values.size() != size;
  }

  std::string out_;
  std::string_view bytes_;
  bool failed_ = false;
};

template <class Answer>
Result<std::string> packed(Result<Answer> answer) {
  if (!answer) return tl::unexpected(std::move(answer.error()));
  Wire<true> out;
  out(*answer);
  return out.take();
}

template <class Answer>
Result<Answer> unpacked(std::string_view bytes) {
  Wire<false> in(bytes);
  Answer answer{};
  in(answer);
  if (!in.is_whole()) return fail(Errc::kMalformed, "no answer of the process that reads it");
  return answer;
}

// A file that was read as one that nobody writes may be written just then: what looks damaged is
// looked at once more.
template <class Ask>
auto answer_of(const std::string& file, const Ask& ask)
    -> decltype(ask(std::declval<HistoryStore&>())) {
  for (int attempt = 0;; ++attempt) {
    auto store = HistoryStore::open_to_read(file);
    if (!store) return tl::unexpected(std::move(store.error()));
    auto answer = ask(**store);
    if (answer || attempt > 0 || answer.error().code != Errc::kMalformed) return answer;
  }
}

class BoundedHistory final : public History {
 public:
  BoundedHistory(std::string file, std::string shown)
      : file_(std::move(file)), shown_(std::move(shown)) {}

  Result<std::vector<SeriesKnown>> series(std::string_view family) override {
    return ask([&](HistoryStore& store) { return store.series(family); });
  }
  Result<SeriesPast> past(const SeriesQuery& requested) override {
    return ask([&](HistoryStore& store) { return store.past(requested); });
  }
  Result<std::vector<std::pair<std::string, double>>> at(Nanoseconds wall,
                                                         Nanoseconds timeout) override {
    return ask([&](HistoryStore& store) { return store.at(wall, timeout); });
  }
  Result<EventsPast> events(const EventsQuery& requested) override {
    return ask([&](HistoryStore& store) { return store.events(requested); });
  }
  Result<HistoryFacts> facts() override {
    return ask([&](HistoryStore& store) { return store.facts(); });
  }

 private:
  template <class Ask>
  auto ask(const Ask& ask) -> decltype(ask(std::declval<HistoryStore&>())) {
    using Answer = typename decltype(ask(std::declval<HistoryStore&>()))::value_type;
    // One file may not cost each of a hundred questions its bound.
    if (broken_) return tl::unexpected(*broken_);
    const auto text = run_bounded({}, [&] { return packed(answer_of(file_, ask)); });
    if (!text) {
      broken_ = text.error();
      broken_->message.insert(0, shown_ + ": ");
      return tl::unexpected(*broken_);
    }
    Result<Answer> answer =
        text->and_then([](const std::string& bytes) { return unpacked<Answer>(bytes); });
    if (answer) return answer;
    std::string& message = answer.error().message;
    if (const auto at = message.find(file_); at != std::string::npos) {
      message.replace(at, file_.size(), shown_);
    }
    return answer;
  }

  std::string file_;
  std::string shown_;
  std::optional<Error> broken_;
};

}  // namespace

std::unique_ptr<History> bounded_history(std::string file, std::string shown) {
  return std::make_unique<BoundedHistory>(std::move(file), std::move(shown));
}

}  // namespace jetmem
