// SPDX-License-Identifier: Apache-2.0
#include "metrics/series_key.h"

#include "base/text/text.h"
#include "metrics/sample.h"

namespace jetmem {
namespace {

bool is_name_char(char c, bool first) {
  return c == '_' || c == ':' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (!first && c >= '0' && c <= '9');
}

std::string_view take_name(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && is_name_char(text[size], size == 0)) ++size;
  const std::string_view name = text.substr(0, size);
  text.remove_prefix(size);
  return name;
}

bool take(std::string_view& text, std::string_view what) {
  if (text.substr(0, what.size()) != what) return false;
  text.remove_prefix(what.size());
  return true;
}

// Up to the closing quote, which is taken too. False: there is none, or an unknown escape.
bool take_value(std::string_view& text, std::string& value) {
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '"') return true;
    if (c != '\\') {
      value += c;
      continue;
    }
    if (text.empty()) return false;
    const char escaped = text.front();
    text.remove_prefix(1);
    if (escaped == 'n') {
      value += '\n';
    } else if (escaped == '\\' || escaped == '"') {
      value += escaped;
    } else {
      return false;
    }
  }
  return false;
}

}  // namespace

std::string_view SeriesName::label(std::string_view name) const {
  for (const auto& [label, value] : labels) {
    if (label == name) return value;
  }
  return {};
}

std::string SeriesName::key() const {
  std::string out = family;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    out.append(i == 0 ? "{" : ",").append(labels[i].first).append("=\"");
    append_label_value(out, labels[i].second);
    out.append("\"");
  }
  if (!labels.empty()) out += '}';
  return out;
}

Result<SeriesName> parse_series_key(std::string_view key) {
  std::string_view rest = key;
  const auto wrong = [&](std::string_view expected) {
    return fail(Errc::kMalformed, "series name '" + printable(key, 200) + "', character " +
                                      std::to_string(key.size() - rest.size() + 1) + ": expected " +
                                      std::string(expected));
  };
  SeriesName out;
  out.family = take_name(rest);
  if (out.family.empty()) return wrong("a metric's name");
  if (rest.empty()) return out;
  if (!take(rest, "{")) return wrong("'{' or the end");
  while (!take(rest, "}")) {
    if (!out.labels.empty() && !take(rest, ",")) return wrong("',' or '}'");
    const std::string_view name = take_name(rest);
    if (name.empty()) return wrong("a label's name");
    if (!take(rest, "=\"")) return wrong("=\" and a label's value");
    std::string value;
    if (!take_value(rest, value)) return wrong("a label's value that ends in a quote");
    out.labels.emplace_back(name, std::move(value));
  }
  if (!rest.empty()) return wrong("the end");
  return out;
}

}  // namespace jetmem
