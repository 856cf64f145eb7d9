// SPDX-License-Identifier: Apache-2.0
#include "base/json/fields.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text/json_integers.h"
#include "base/text/text.h"

namespace jetmem::json {
namespace {

using In = nlohmann::json;
using Out = nlohmann::ordered_json;

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxName = 300;
constexpr std::size_t kMaxWritten = 1000;

// Brackets that are open at once. The parser itself does not recurse, what walks its result does.
bool is_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

// Whether nothing in the text needs an escape: then it is appended.
bool append_as_is(std::string_view text, std::string& out) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  if (!std::all_of(text.begin(), text.end(), is_plain)) return false;
  out.append("\"").append(text).append("\"");
  return true;
}

bool take(const In& from, std::string& to) {
  if (!from.is_string()) return false;
  to = printable(from.get_ref<const std::string&>(), kMaxText);
  return true;
}
bool take(const In& from, bool& to) {
  if (!from.is_boolean()) return false;
  to = from.get<bool>();
  return true;
}
bool take(const In& from, double& to) {
  if (!from.is_number() || !std::isfinite(from.get<double>())) return false;
  to = from.get<double>();
  return true;
}
bool take(const In& from, std::int64_t& to) {
  if (!from.is_number_integer()) return false;
  if (from.is_number_unsigned() && from.get<std::uint64_t>() > INT64_MAX) return false;
  to = from.get<std::int64_t>();
  return true;
}
bool take(const In& from, std::uint64_t& to) {
  if (!from.is_number_unsigned()) return false;
  to = from.get<std::uint64_t>();
  return true;
}
bool take(const In& from, std::uint32_t& to) {
  if (!from.is_number_unsigned() || from.get<std::uint64_t>() > UINT32_MAX) return false;
  to = from.get<std::uint32_t>();
  return true;
}
bool take_exact(const In& from, std::string& to) {
  if (!from.is_string()) return false;
  to = from.get_ref<const std::string&>();
  return true;
}
bool take_exact(const In& from, double& to) {
  if (from.is_number()) {
    to = from.get<double>();
  } else if (from == "NaN") {
    to = std::numeric_limits<double>::quiet_NaN();
  } else if (from == "+Inf" || from == "-Inf") {
    to = from == "+Inf" ? HUGE_VAL : -HUGE_VAL;
  } else {
    return false;
  }
  return true;
}

std::string exact_text(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"+Inf\"" : "\"-Inf\"";
  // Whole numbers have no sign at 0.
  return value == 0 && std::signbit(value) ? "-0.0" : shortest_number(value);
}

}  // namespace

Fields::Fields(Fields& parent, Key key)
    : text_(parent.text_),
      depth_(parent.depth_ + 1),
      parent_(&parent),
      key_(key),
      root_(parent.root_) {
  if (parent.reading()) {
    in_ = parent.at(key);
  } else {
    parent.start_member(key);
  }
}

Fields::Fields(Fields& parent, Key key, std::size_t index)
    : text_(parent.text_),
      depth_(parent.depth_ + 2),
      parent_(&parent),
      key_(key),
      index_(index),
      root_(parent.root_) {
  if (parent.reading()) {
    in_ = &(*parent.at(key))[index];
  } else {
    if (index > 0) *text_ += ',';
    new_line(depth_);
  }
}

const In* Fields::at(Key key) const {
  if (in_ == nullptr || !in_->is_object()) return nullptr;
  const auto found = in_->find(key);
  return found == in_->end() ? nullptr : &*found;
}

bool Fields::is_object() const { return in_ != nullptr && in_->is_object(); }

bool Fields::has_object(Key key) const {
  const In* const found = at(key);
  return found != nullptr && found->is_object();
}

std::optional<std::size_t> Fields::list_size(Key key) const {
  const In* const found = at(key);
  if (found == nullptr || !found->is_array()) return std::nullopt;
  return found->size();
}

void Fields::start_member(std::string_view key) {
  *text_ += has_members_ ? ',' : '{';
  has_members_ = true;
  new_line(depth_ + 1);
  if (!append_as_is(key, *text_)) put(std::string(key), 0);
  *text_ += root_->indent_ < 0 ? ":" : ": ";
}

template <class T>
bool Fields::member(std::string_view key, const T& value) {
  start_member(key);
  if constexpr (std::same_as<T, bool>) {
    *text_ += value ? "true" : "false";
  } else if constexpr (std::integral<T>) {
    *text_ += std::to_string(value);
  } else if constexpr (std::same_as<T, std::string>) {
    if (!append_as_is(value, *text_)) put(value, 0);
  } else {
    put(value, depth_ + 1);
  }
  return true;
}

// Nothing in a document that is one line.
void Fields::new_line(std::size_t depth) {
  if (root_->indent_ < 0) return;
  *text_ += '\n';
  text_->append(depth * static_cast<std::size_t>(root_->indent_), ' ');
}

void Fields::put(Out value, std::size_t depth) {
  use_integers(value);
  const std::string written = value.dump(root_->indent_, ' ', false, Out::error_handler_t::replace);
  // Within a text a line break is written as \n.
  std::size_t from = 0;
  for (auto at = written.find('\n'); at != std::string::npos; at = written.find('\n', from)) {
    text_->append(written, from, at - from);
    new_line(depth);
    from = at + 1;
  }
  text_->append(written, from);
}

void Fields::close() {
  if (reading() || is_closed_) return;
  is_closed_ = true;
  if (!has_members_) {
    *text_ += "{}";
    return;
  }
  new_line(depth_);
  *text_ += '}';
}

std::size_t Fields::start_list(Key key) {
  start_member(key);
  *text_ += '[';
  return text_->size();
}

void Fields::end_list(bool is_empty) {
  if (!is_empty) new_line(depth_ + 1);
  *text_ += ']';
}

std::string Fields::path() const {
  std::string out = parent_ == nullptr ? "" : parent_->path();
  if (*key_ != '\0') out += (out.empty() ? "" : ".") + std::string(key_);
  if (index_) out += "[" + std::to_string(*index_) + "]";
  return out;
}

void Fields::fail(Key key, std::string_view why) {
  if (!reading() || failed()) return;
  const std::string within = path();
  root_->error_ = Error{Errc::kMalformed, within + (within.empty() || *key == '\0' ? "" : ".") +
                                              key + ": " + std::string(why)};
}

bool Fields::odd(Key key, const In* found) {
  if (root_->is_file_ && found != nullptr) refuse(key, found);
  return false;
}

void Fields::refuse(Key key, const In* found) {
  fail(key, found == nullptr
                ? std::string("is missing")
                : "must not be " +
                      printable(found->is_structured()
                                    ? std::string(found->type_name())
                                    : found->dump(-1, ' ', true, In::error_handler_t::replace),
                                60));
}

// NOLINTNEXTLINE(bugprone-macro-parentheses): a type
#define JETMEM_SCALAR(Type)                                              \
  bool Fields::operator()(Key key, Type& value) {                        \
    if (!reading()) return member(key, value);                           \
    const In* const found = at(key);                                     \
    return (found != nullptr && take(*found, value)) || odd(key, found); \
  }
JETMEM_SCALAR(std::string)
JETMEM_SCALAR(bool)
JETMEM_SCALAR(double)
JETMEM_SCALAR(std::int64_t)
JETMEM_SCALAR(std::uint64_t)
#undef JETMEM_SCALAR

bool Fields::operator()(Key key, int& value) {
  std::int64_t wide = value;
  if (!(*this)(key, wide)) return false;
  value = static_cast<int>(std::clamp<std::int64_t>(wide, INT32_MIN, INT32_MAX));
  return true;
}

bool Fields::operator()(Key key, Nanoseconds& value) {
  double seconds = reading() ? 0 : to_seconds(value);
  if (!(*this)(key, seconds)) return false;
  if (std::fabs(seconds) > static_cast<double>(kLastSecond)) return false;
  if (reading()) value = Nanoseconds(std::llround(seconds * 1e9));
  return true;
}

bool Fields::operator()(Key key, std::optional<double>& value) {
  if (!reading()) return value && std::isfinite(*value) && (*this)(key, *value);
  double found = 0;
  if (!(*this)(key, found)) return false;
  value = found;
  return true;
}

template <class T>
bool Fields::array(Key key, std::vector<T>& value) {
  if (!reading()) return member(key, value);
  const In* const found = at(key);
  if (!list_size(key)) return odd(key, found);
  for (const In& each : *found) {
    T item{};
    if (take(each, item) || odd(key, &each)) value.push_back(std::move(item));
  }
  return true;
}
bool Fields::operator()(Key key, std::vector<std::string>& value) { return array(key, value); }
bool Fields::operator()(Key key, std::vector<std::int64_t>& value) { return array(key, value); }
bool Fields::operator()(Key key, std::vector<std::uint32_t>& value) { return array(key, value); }

void Fields::required_counts(Key key, std::span<std::uint64_t> values, std::size_t least) {
  std::vector<std::uint64_t> counts;
  if (!reading()) counts.assign(values.begin(), values.end());
  if (!array(key, counts) || counts.size() < least) missing(key);
  if (reading())
    std::copy_n(counts.begin(), std::min(counts.size(), values.size()), values.begin());
}

template <class T>
bool Fields::map(Key key, Map<T>& value) {
  if (!reading()) {
    object(key, [&](Fields& v) {
      for (const auto& [name, each] : value) v.member(name, each);
    });
    return true;
  }
  if (!has_object(key)) return odd(key, at(key));
  for (const auto& [name, each] : at(key)->items()) {
    T found{};
    if (!take(each, found) && !odd(key, &each)) continue;
    // The names of samples are read as they are: they are parsed.
    const bool is_sample = std::same_as<T, double>;
    value.emplace_back(is_sample ? name : printable(name, kMaxName), std::move(found));
  }
  return true;
}
bool Fields::operator()(Key key, Map<double>& value) { return map(key, value); }
bool Fields::operator()(Key key, Map<std::string>& value) { return map(key, value); }
bool Fields::operator()(Key key, Map<std::uint64_t>& value) { return map(key, value); }

void Fields::unless_empty(Key key, std::string& value) {
  std::string text = reading() ? std::string() : printable(value, kMaxWritten);
  if (!reading() && text.empty()) return;
  if ((*this)(key, text) && reading()) value = std::move(text);
}

bool Fields::is_null(Key key, bool has_value) {
  if (!reading()) return !has_value && member(key, nullptr);
  const In* const found = at(key);
  return found != nullptr && found->is_null();
}

void Fields::null_if_empty(Key key, std::string& value) {
  if (reading() || !value.empty()) {
    (*this)(key, value);
  } else {
    member(key, nullptr);
  }
}

void Fields::null_if_absent(Key key, std::optional<double>& value) {
  if (!(*this)(key, value) && !reading()) member(key, nullptr);
}

bool Fields::exact(Key key, std::string& value) {
  if (!reading()) return (*this)(key, value);
  const In* const found = at(key);
  return (found != nullptr && take_exact(*found, value)) || odd(key, found);
}

bool Fields::exact(Key key, Map<std::string>& value) {
  if (!reading()) return (*this)(key, value);
  if (!has_object(key)) return odd(key, at(key));
  for (const auto& [name, each] : at(key)->items()) {
    if (!take_exact(each, value.emplace_back(name, "").second)) odd(key, &each);
  }
  return true;
}

bool Fields::exact(Key key, double& value) {
  if (reading()) {
    const In* const found = at(key);
    return (found != nullptr && take_exact(*found, value)) || odd(key, found);
  }
  start_member(key);
  *text_ += exact_text(value);
  return true;
}

void Fields::required_exact(Key key, std::vector<double>& values, double none) {
  if (reading()) {
    const In* const found = at(key);
    if (!list_size(key)) return missing(key);
    for (const In& each : *found) {
      double& value = values.emplace_back(none);
      if (each == false) {
        value = std::numeric_limits<double>::quiet_NaN();
      } else if (!each.is_null() && !take_exact(each, value)) {
        refuse(key, &each);
      }
    }
    return;
  }
  start_list(key);
  for (const double& value : values) {
    if (&value != values.data()) *text_ += ',';
    const bool is_none = std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(none);
    *text_ += is_none ? "null" : std::isnan(value) ? "false" : exact_text(value);
  }
  *text_ += ']';
}

void Fields::embedded(Key key, std::string& object, std::size_t most) {
  if (!reading()) {
    Out parsed = Out::parse(object, nullptr, false);
    if (parsed.is_object() && !parsed.empty()) member(key, parsed);
    return;
  }
  if (!has_object(key)) return;
  std::string text = at(key)->dump(-1, ' ', true, In::error_handler_t::replace);
  if (text.size() <= most) object = std::move(text);
}

void Fields::whole(const std::string& text) {
  assert(!has_members_);
  put(Out::parse(text, nullptr, false), depth_);
  is_closed_ = true;
}

void Fields::absent(Map<std::string>& reasons) {
  if (reading()) {
    (*this)("absent", reasons);
    return;
  }
  Out absent;
  for (const auto& [key, why] : reasons) absent[key] = printable(why, kMaxWritten);
  if (!absent.empty()) member("absent", absent);
}

void Fields::schema(std::string_view name) {
  std::string found(name);
  if (!reading()) {
    (*this)("schema", found);
    return;
  }
  found.clear();
  (*this)("schema", found);
  if (found == name) return;
  fail("schema", "is '" + printable(found, 60) + "', expected '" + std::string(name) + "'");
}

void Fields::row(std::initializer_list<Cell> values) {
  if (!reading()) {
    assert(!has_members_);
    Out row = Out::array();
    row.get_ref<Out::array_t&>().reserve(values.size());
    for (const auto& value : values) {
      std::visit([&](auto* each) { row.push_back(*each); }, value);
    }
    put(row, depth_);
    is_closed_ = true;
    return;
  }
  bool good = in_ != nullptr && in_->is_array() && in_->size() >= values.size();
  std::size_t i = 0;
  for (const auto& value : values) {
    good = good && std::visit([&](auto* each) { return take((*in_)[i], *each); }, value);
    ++i;
  }
  is_closed_ = good;
  if (!good) fail("", "must be a list of " + std::to_string(values.size()) + " values");
}

std::size_t keep_within(Fields::Map<double>& samples, std::size_t most) {
  std::erase_if(samples, [](const auto& each) { return !std::isfinite(each.second); });
  std::size_t size = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    constexpr std::size_t kLine = 40;  // indentation, quotes, the number
    size += kLine;
    for (const char c : samples[i].first) {
      const auto byte = static_cast<unsigned char>(c);
      size += byte < 0x20 ? 6 : byte >= 0x80 ? 3 : c == '"' || c == '\\' ? 2 : 1;
    }
    if (size <= most) continue;
    const std::size_t omitted = samples.size() - i;
    samples.resize(i);
    return omitted;
  }
  return 0;
}

class Document {
 public:
  static std::string write(int indent, const Describe& fields) {
    std::string text;
    Fields v(&text, nullptr, indent);
    fields(v);
    v.close();
    text += '\n';
    return text;
  }
  static Result<void> read(std::string_view text, const Describe& fields, bool is_file) {
    const std::string what = is_file ? "" : "the answer ";
    if (text.size() > kMaxAnswer)
      return jetmem::fail(Errc::kTooLarge, what + "is larger than 4 MiB");
    if (is_too_deep(text)) return jetmem::fail(Errc::kMalformed, what + "is nested too deeply");
    const In in = In::parse(text, nullptr, false);
    if (!in.is_object()) {
      return jetmem::fail(
          Errc::kMalformed,
          what + "is not JSON" + (is_file ? "" : "; is another program listening there?"));
    }
    Fields v(nullptr, &in, 0);
    v.is_file_ = is_file;
    fields(v);
    if (!v.failed()) return {};
    if (is_file) return tl::unexpected(*v.error());
    return jetmem::fail(Errc::kMalformed, "the answer is malformed: " + v.error()->message +
                                              "; are jetmem and jetmemd of the same version?");
  }
};

std::string write_document(int indent, const Describe& fields) {
  return Document::write(indent, fields);
}
Result<void> read_document(std::string_view text, const Describe& fields, From from) {
  return Document::read(text, fields, from == From::kFile);
}

}  // namespace jetmem::json
