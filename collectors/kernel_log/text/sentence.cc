// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/text/sentence.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::size_t kMaxQuote = 120;

// The device that did DMA, as well as the event knows it.
void add_dma_client(const Event& event, std::string& out) {
  const auto number = event.number("sid");
  const std::string sid = number ? std::to_string(*number) : name_in_words(event.text("sid"));
  if (event.has("client")) {
    out += name_in_words(event.text("client"));
    if (!sid.empty()) out += " (stream ID " + sid + ")";
  } else if (!sid.empty()) {
    out += "stream ID " + sid;
  } else {
    out += "an unknown device";
    add_name(out, event, "cbfrsynra", " (cbfrsynra ", ")");
  }
}

bool add_list(std::string_view name, const Event& event, std::string& out) {
  std::string_view before;
  for (std::size_t i = 0; i < event.size(); ++i) {
    if (event[i].name != name || event[i].type != FieldType::kItem) continue;
    out.append(before).append(name_in_words(event.text_of(event[i])));
    before = ", ";
  }
  return !before.empty();
}

// False: the event lacks the field.
bool add_field(std::string_view field, const Event& event, std::string& out) {
  const std::size_t colon = field.find(':');
  const std::string_view name = field.substr(0, colon);
  const std::string_view how =
      colon == std::string_view::npos ? std::string_view{} : field.substr(colon + 1);
  if (name == "process") {
    out += process_in_words(event);
    return true;
  }
  if (name == "dma_client") {
    add_dma_client(event, out);
    return true;
  }
  if (name == "dma_access") {
    const std::string_view rw = event.text("rw");
    const bool addressed = event.has("iova") || event.has("addr");
    out += rw == "write"  ? (addressed ? "wrote to" : "wrote")
           : rw == "read" ? (addressed ? "read from" : "read")
                          : "accessed";
    if (!addressed) out += " memory";
    return true;
  }
  if (name == "message") {
    if (event.message() == nullptr) return false;
    out += message_id(event);
    return true;
  }
  if (const auto number = event.number(name)) {
    constexpr std::int64_t kKib = 1024;
    if (how == "bytes") {
      const bool is_small = *number < kKib || (*number < 10 * kKib && *number % kKib != 0);
      out += is_small ? std::to_string(*number) + " bytes" : size_in_words(*number / kKib);
    } else if (how == "kib") {
      out += size_in_words(*number);
    } else if (how == "order") {
      out += order_in_words(*number);
    } else {
      out += std::to_string(*number);
    }
    return true;
  }
  if (how == "bytes") {
    const std::string_view rounded = event.text(std::string(name) + "_text");
    out += quote_in_words(rounded, kMaxQuote);
    return !rounded.empty();
  }
  const std::string_view text = event.text(name);
  if (text.empty()) return add_list(name, event, out);
  if (out.ends_with('"')) {
    out += quote_as_printed(text, kMaxQuote);
  } else if (how == "words") {
    out += quote_in_words(text, kMaxQuote);
  } else {
    out += name_in_words(text);
  }
  return true;
}

// The '}' of the '{' at `at`.
std::size_t end_of(std::string_view pattern, std::size_t at) {
  int depth = 0;
  for (; at < pattern.size(); ++at) {
    if (pattern[at] == '{') ++depth;
    if (pattern[at] == '}' && --depth == 0) return at;
  }
  return pattern.size();
}

// Parts of a sentence that are made of several fields, as they are there.
constexpr std::array<std::string_view, 4> kParts{"process", "dma_client", "dma_access", "message"};
constexpr std::array<std::string_view, 4> kFormats{"bytes", "kib", "order", "words"};

template <class List>
bool has_name(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

void examine(std::string_view pattern, PatternReport& out) {
  for (std::size_t at = 0; at < pattern.size() && out.error.empty();) {
    if (pattern[at] == '}') out.error = "'}' without '{': remove it";
    if (pattern[at] != '{') {
      ++at;
      continue;
    }
    const std::size_t end = end_of(pattern, at);
    const std::string_view inside = pattern.substr(at + 1, end - at - 1);
    const std::string name(inside.substr(0, inside.find_first_of("{:")));
    if (end == pattern.size()) {
      out.error = "'{' of '{" + printable(inside, 40) + "' without '}': write '}' where it ends";
    } else if (inside.starts_with('?')) {
      examine(inside.substr(1), out);
    } else if (name.empty() || inside.find('{') != std::string_view::npos) {
      out.error =
          "'{" + printable(inside, 40) + "}' is no field: {name}, or {? a part with a {name}}";
    } else {
      if (name.size() < inside.size() && !has_name(kFormats, inside.substr(name.size() + 1))) {
        out.error =
            "'{" + printable(inside, 40) + "}': behind ':' stands bytes, kib, order or words";
      }
      if (!has_name(kParts, name)) out.fields.push_back(inside.substr(0, name.size()));
    }
    at = end + 1;
  }
}

}  // namespace

PatternReport examine_pattern(std::string_view pattern) {
  PatternReport out;
  examine(pattern, out);
  return out;
}

bool say(std::string_view pattern, const Event& event, std::string& out) {
  const std::size_t before = out.size();
  for (std::size_t at = 0; at < pattern.size();) {
    if (pattern[at] != '{') {
      out += pattern[at++];
      continue;
    }
    const std::size_t end = end_of(pattern, at);
    const std::string_view inside = pattern.substr(at + 1, end - at - 1);
    at = end + 1;
    if (inside.starts_with('?')) {
      say(inside.substr(1), event, out);
    } else if (!add_field(inside, event, out)) {
      out.resize(before);
      return false;
    }
  }
  return true;
}

}  // namespace jetmem::kernel_log
