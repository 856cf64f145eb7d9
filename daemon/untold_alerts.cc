#include "daemon/untold_alerts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/small_file.h"
#include "base/text.h"

namespace jetmem {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;
constexpr std::size_t kDigits = 16;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= AlertNews::kMaxName &&
         printable(text, AlertNews::kMaxName) == text;
}

bool is_digest(std::string_view text) {
  return text.size() == kDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return is_digit(c) || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

UntoldAlert untold_alert(const std::string& alert, const AlertNews::Labels& labels) {
  std::uint64_t digest = 14695981039346656037U;  // FNV-1a
  const auto add = [&](std::string_view text) {
    for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 1099511628211U;
    digest *= 1099511628211U;  // as after a zero
  };
  for (const auto& [name, value] : labels) {
    add(name);
    add(value);
  }
  UntoldAlert untold{alert, std::string(kDigits, '0')};
  for (std::size_t i = kDigits; i-- > 0; digest >>= 4) {
    untold.labels[i] = "0123456789abcdef"[digest & 15U];
  }
  return untold;
}

Result<std::vector<UntoldAlert>> parse_untold_alerts(std::string_view text,
                                                     std::string_view boot_id) {
  if (text.size() > UntoldAlerts::kMaxBytes) return fail(Errc::kTooLarge, "too much of it");
  try {
    const Json json = Json::parse(text);
    if (!json.is_object() || json.at("format") != kFormat) {
      return fail(Errc::kMalformed, "not of this version's format");
    }
    std::vector<UntoldAlert> alerts;
    if (json.at("boot_id").get<std::string>() != boot_id) return alerts;
    const Json& untold = json.at("untold");
    if (!untold.is_array() || untold.size() > UntoldAlerts::kMost) {
      return fail(Errc::kMalformed, "not a list of a few alerts");
    }
    for (const Json& one : untold) {
      alerts.push_back({one.at("alert").get<std::string>(), one.at("labels").get<std::string>()});
      if (!is_name(alerts.back().alert) || !is_digest(alerts.back().labels)) {
        return fail(Errc::kMalformed, "not an alert");
      }
    }
    return alerts;
  } catch (const Json::exception& error) {
    return fail(Errc::kMalformed, printable(error.what()));
  }
}

UntoldAlerts::UntoldAlerts(const std::string& directory, std::string boot_id)
    : boot_id_(std::move(boot_id)) {
  if (!directory.empty() && !boot_id_.empty()) path_ = directory + "/" + std::string(kFile);
}

Result<std::vector<UntoldAlert>> UntoldAlerts::load() {
  if (path_.empty()) return std::vector<UntoldAlert>();
  const auto text = read_small_file(path_, kMaxBytes);
  if (!text && text.error().code == Errc::kAbsent) return std::vector<UntoldAlert>();
  if (!text) return tl::unexpected(text.error());
  auto alerts = parse_untold_alerts(*text, boot_id_);
  if (!alerts) return tl::unexpected(std::move(alerts.error()).within(path_));
  kept_ = *alerts;
  return alerts;
}

Result<void> UntoldAlerts::keep(std::vector<UntoldAlert> untold) {
  if (path_.empty() || untold == kept_) return {};
  Json list = Json::array();
  for (const UntoldAlert& one : untold) {
    list.push_back(Json{{"alert", one.alert}, {"labels", one.labels}});
  }
  // Not again and again where it cannot be written.
  kept_ = std::move(untold);
  const Json json{{"format", kFormat}, {"boot_id", boot_id_}, {"untold", std::move(list)}};
  return replace_small_file(path_,
                            json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace jetmem
