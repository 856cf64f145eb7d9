#include "daemon/alert_news.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/utc_time.h"

namespace jetmem {
namespace {

// YAML folds texts as their writers like; here each is one line.
std::string one_line(std::string text, std::size_t most = AlertNews::kMaxText) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return printable(text, most);
}

std::string name_of(const std::string& text) { return printable(text, AlertNews::kMaxName); }

// The shortest that reads back as the same; nothing where it is not a number.
std::string number(double value) {
  if (!std::isfinite(value)) return {};
  std::array<char, 64> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string variable_name(std::string_view label) {
  std::string name = "JETMEM_LABEL_";
  for (const char c : label.substr(0, AlertNews::kMaxName)) {
    const bool is_small = c >= 'a' && c <= 'z';
    const bool is_fine = is_digit(c) || (c >= 'A' && c <= 'Z');
    name += is_small ? static_cast<char>(c - 'a' + 'A') : is_fine ? c : '_';
  }
  return name;
}

template <class Take>
void for_each_label(const AlertNews& news, Take take) {
  const std::size_t count = std::min(news.labels.size(), AlertNews::kMaxLabels);
  for (std::size_t i = 0; i < count; ++i) {
    take(news.labels[i].first, printable(news.labels[i].second, AlertNews::kMaxLabelValue));
  }
}

}  // namespace

AlertNews alert_news(const Transition& transition) {
  AlertNews news;
  if (transition.rule != nullptr) {
    news.alert = transition.rule->name;
    news.severity = severity_name(transition.rule->severity);
  }
  news.change = transition.change;
  news.value = transition.value;
  news.labels = transition.labels;
  news.reason = transition.reason;
  news.at = transition.at;
  news.since = std::max(transition.at - transition.active_since, Nanoseconds(0));
  return news;
}

std::string alert_json(const AlertNews& news) {
  nlohmann::ordered_json labels = nlohmann::ordered_json::object();
  for_each_label(news, [&](const std::string& name, std::string value) {
    labels[name_of(name)] = std::move(value);
  });
  nlohmann::ordered_json json;
  json["alert"] = name_of(news.alert);
  json["severity"] = name_of(news.severity);
  json["state"] = change_name(news.change);
  json["value"] = nullptr;
  if (std::isfinite(news.value)) json["value"] = news.value;
  json["labels"] = std::move(labels);
  json["at"] = nullptr;
  if (news.wall > Nanoseconds(0)) json["at"] = utc_time(news.wall);
  json["at_boot_seconds"] = to_seconds(news.at);
  json["summary"] = one_line(news.summary);
  json["cause"] = one_line(news.cause);
  json["remedy"] = one_line(news.remedy);
  json["runbook"] = one_line(news.runbook);
  json["since_seconds"] = to_seconds(news.since);
  if (!news.reason.empty()) json["reason"] = one_line(news.reason);
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::vector<std::string> alert_environment(const AlertNews& news) {
  std::vector<std::string> variables{
      "JETMEM_ALERT=" + name_of(news.alert),
      "JETMEM_SEVERITY=" + name_of(news.severity),
      "JETMEM_STATE=" + std::string(change_name(news.change)),
      "JETMEM_VALUE=" + number(news.value),
      "JETMEM_AT=" + (news.wall > Nanoseconds(0) ? utc_time(news.wall) : std::string()),
      "JETMEM_SUMMARY=" + one_line(news.summary),
      "JETMEM_RUNBOOK=" + one_line(news.runbook),
  };
  for_each_label(news, [&](const std::string& name, const std::string& value) {
    variables.push_back(variable_name(name) + "=" + value);
  });
  return variables;
}

}  // namespace jetmem
