// SPDX-License-Identifier: Apache-2.0
#include "daemon/alerts/pending_notifications.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/text.h"

namespace jetmem {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kDigits = 16;

bool is_alert_name(std::string_view text) {
  return !text.empty() && text.size() <= AlertNotification::kMaxName &&
         printable(text, AlertNotification::kMaxName) == text;
}

bool is_digest(std::string_view text) {
  return text.size() == kDigits && std::all_of(text.begin(), text.end(), is_lower_hex);
}

}  // namespace

PendingNotification pending_notification(const std::string& alert,
                                         const AlertNotification::Labels& labels) {
  using namespace std::string_view_literals;
  std::uint64_t digest = kFnvBasis;
  for (const auto& [name, value] : labels) {
    for (const std::string_view text : {std::string_view(name), std::string_view(value)}) {
      digest = fnv1a("\0"sv, fnv1a(text, digest));
    }
  }
  PendingNotification pending{alert, std::string(kDigits, '0')};
  write_hex(digest, pending.labels);
  return pending;
}

Result<std::vector<PendingNotification>> parse_pending_notifications(std::string_view text) {
  if (text.size() > PendingNotification::kMaxBytes) return fail(Errc::kTooLarge, "too long");
  try {
    const Json pending = Json::parse(text);
    if (!pending.is_array() || pending.size() > PendingNotification::kMost) {
      return fail(Errc::kMalformed, "not a list of a few alerts");
    }
    std::vector<PendingNotification> alerts;
    for (const Json& one : pending) {
      alerts.push_back({one.at("alert").get<std::string>(), one.at("labels").get<std::string>()});
      if (!is_alert_name(alerts.back().alert) || !is_digest(alerts.back().labels)) {
        return fail(Errc::kMalformed, "not an alert");
      }
    }
    return alerts;
  } catch (const Json::exception& error) {
    return fail(Errc::kMalformed, printable(error.what()));
  }
}

std::string to_text(const std::vector<PendingNotification>& pending) {
  Json list = Json::array();
  for (const PendingNotification& one : pending) {
    list.push_back(Json{{"alert", one.alert}, {"labels", one.labels}});
  }
  return list.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace jetmem
