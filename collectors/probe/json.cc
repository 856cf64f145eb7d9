// SPDX-License-Identifier: Apache-2.0
#include "collectors/probe/json.h"

#include <cmath>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kShown = 60;

// Looks through a text without keeping any of it.
class Bounded final : public nlohmann::json_sax<Json> {
 public:
  explicit Bounded(const JsonBounds& bounds) : bounds_(bounds) {}

  const std::string& problem() const { return problem_; }

  bool null() override { return one(); }
  bool boolean(bool /*flag*/) override { return one(); }
  bool number_integer(number_integer_t /*number*/) override { return one(); }
  bool number_unsigned(number_unsigned_t /*number*/) override { return one(); }
  bool number_float(number_float_t /*number*/, const string_t& /*text*/) override { return one(); }
  bool string(string_t& /*text*/) override { return one(); }
  bool binary(binary_t& /*bytes*/) override { return one(); }
  bool key(string_t& /*name*/) override { return one(); }
  bool start_object(std::size_t /*size*/) override { return deeper(); }
  bool start_array(std::size_t /*size*/) override { return deeper(); }
  bool end_object() override { return higher(); }
  bool end_array() override { return higher(); }
  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& /*error*/) override {
    problem_ = "not JSON from byte " + std::to_string(position) + " on, at '" +
               printable(last_token, kShown) + "'";
    return false;
  }

 private:
  bool one() {
    if (++values_ <= bounds_.values) return true;
    problem_ = "more than " + std::to_string(bounds_.values) + " names and values";
    return false;
  }
  bool deeper() {
    if (++depth_ > bounds_.depth) {
      problem_ = "nested deeper than " + std::to_string(bounds_.depth);
      return false;
    }
    return one();
  }
  bool higher() {
    --depth_;
    return true;
  }

  const JsonBounds& bounds_;
  std::size_t depth_ = 0;
  std::size_t values_ = 0;
  std::string problem_;
};

std::string shown(const JsonPath& at) {
  if (at.value == nullptr) return "nothing";
  if (at.value->is_string()) {
    return '"' + printable(at.value->get_ref<const std::string&>(), kShown) + '"';
  }
  if (at.value->is_object()) return "an object";
  if (at.value->is_array()) return "a list";
  return at.value->dump();  // a number, true, false or null
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonBounds& bounds) {
  if (text.size() > bounds.bytes) {
    return fail(Errc::kTooLarge, std::to_string(text.size()) + " bytes, expected at most " +
                                     std::to_string(bounds.bytes));
  }
  Bounded bounded(bounds);
  if (!Json::sax_parse(text.begin(), text.end(), &bounded)) {
    return fail(Errc::kMalformed, bounded.problem());
  }
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (json.is_discarded()) return fail(Errc::kMalformed, "not JSON");
  return json;
}

std::string JsonPath::path() const {
  std::string out;
  if (within != nullptr) out = within->path();
  if (!name.empty()) {
    if (!out.empty()) out += '.';
    out += printable(name, kShown);
  } else if (within != nullptr) {
    out += '[' + std::to_string(index) + ']';
  }
  return out;
}

JsonPath JsonTaker::member(const JsonPath& object, std::string_view name) {
  JsonPath found{nullptr, &object, name};
  if (object.value == nullptr || !object.value->is_object()) {
    expected("an object", object);
    return found;
  }
  if (const auto at = object.value->find(name); at != object.value->end()) found.value = &*at;
  return found;
}

std::string JsonTaker::text(const JsonPath& at, std::size_t longest) {
  if (at.value == nullptr || !at.value->is_string()) {
    expected("a text", at);
    return {};
  }
  constexpr std::string_view kCut = "...";
  const auto& text = at.value->get_ref<const std::string&>();
  std::string out = printable(text, longest);
  // One more byte would have been printed if there were more.
  if (printable(text, longest + 4).size() > out.size()) {
    out = printable(text, longest - kCut.size()).append(kCut);
  }
  return out;
}

double JsonTaker::number(const JsonPath& at, double lowest) {
  const bool is_number = at.value != nullptr && at.value->is_number();
  const double number = is_number ? at.value->get<double>() : 0;
  if (is_number && std::isfinite(number) && number >= lowest) return number;
  expected(
      is_number ? "a number that is not below " + std::to_string(std::lround(lowest)) : "a number",
      at);
  return 0;
}

std::uint64_t JsonTaker::count(const JsonPath& at, std::uint64_t highest) {
  const bool is_count = at.value != nullptr && at.value->is_number_unsigned();
  const std::uint64_t count = is_count ? at.value->get<std::uint64_t>() : 0;
  if (is_count && count <= highest) return count;
  expected(is_count ? "a count of at most " + std::to_string(highest) : "a count", at);
  return 0;
}

bool JsonTaker::flag(const JsonPath& at) {
  if (at.value != nullptr && at.value->is_boolean()) return at.value->get<bool>();
  expected("true or false", at);
  return false;
}

void JsonTaker::expected(std::string_view what, const JsonPath& found) {
  if (error_) return;
  const std::string path = found.path();
  error_ = Error{Errc::kMalformed, (path.empty() ? std::string() : path + ": ") + "expected " +
                                       std::string(what) + ", found " + shown(found)};
}

void JsonTaker::too_many(const JsonPath& list, std::size_t most) {
  if (error_) return;
  error_ = Error{Errc::kTooLarge, list.path() + ": " + std::to_string(list.value->size()) +
                                      " entries, expected at most " + std::to_string(most)};
}

}  // namespace jetmem
