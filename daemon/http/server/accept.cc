// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/accept.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text/text.h"
#include "daemon/http/http_text.h"

namespace jetmem {
namespace {

// Removes the part before the next `separator`, and returns it trimmed.
std::string_view take_part(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return trim(part);
}

// Of "gzip ; q = 0.0" what follows the first semicolon; the first parameter of a name counts.
std::optional<std::string_view> parameter(std::string_view parameters, std::string_view name) {
  while (!parameters.empty()) {
    std::string_view value = take_part(parameters, ';');
    if (!is_same_name(take_part(value, '='), name)) continue;
    value = trim(value);
    const bool is_quoted = value.size() >= 2 && value.starts_with('"') && value.ends_with('"');
    return is_quoted ? value.substr(1, value.size() - 2) : value;
  }
  return std::nullopt;
}

// A weight that is no number counts as 0.
double weight_of(std::string_view parameters) {
  const auto text = parameter(parameters, "q");
  if (!text) return 1;
  if (text->find_first_not_of("0123456789.") != std::string_view::npos) return 0;
  double weight = 0;
  std::from_chars(text->data(), text->data() + text->size(), weight);
  return weight;
}

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
  std::optional<bool> named;
  bool any = false;
  while (!accept_encoding.empty()) {
    std::string_view item = take_part(accept_encoding, ',');
    const std::string_view coding = take_part(item, ';');
    const bool is_accepted = weight_of(item) > 0;
    if (is_same_name(coding, "gzip") || is_same_name(coding, "x-gzip")) {
      named = named.value_or(false) || is_accepted;
    } else if (coding == "*") {
      any = is_accepted;
    }
  }
  return named.value_or(any);
}

bool prefers_open_metrics(std::string_view accept) {
  double open = 0;
  std::optional<double> plain;
  double any = 0;
  while (!accept.empty()) {
    std::string_view item = take_part(accept, ',');
    const std::string_view type = take_part(item, ';');
    const double weight = weight_of(item);
    const std::string_view version = parameter(item, "version").value_or("");
    if (is_same_name(type, "application/openmetrics-text")) {
      if (version.empty() || version == "1.0.0") open = std::max(open, weight);
    } else if (is_same_name(type, "text/plain")) {
      if (version.empty() || version == "0.0.4") plain = std::max(plain.value_or(0), weight);
    } else if (is_same_name(type, "text/*") || type == "*/*") {
      any = std::max(any, weight);
    }
  }
  return open > 0 && open >= plain.value_or(any);
}

}  // namespace jetmem
