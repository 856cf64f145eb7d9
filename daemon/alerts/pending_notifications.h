// SPDX-License-Identifier: Apache-2.0
// The firing alerts whose notification is not sent yet, as the notifier's state file keeps them:
//
//   [{"alert":"JetmemX","labels":"cbf29ce484222325"}]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/alerts/alert_notification.h"

namespace jetmem {

struct PendingNotification {
  static constexpr int kFormat = 1;
  static constexpr std::size_t kMost = 32;
  static constexpr std::size_t kMaxBytes = 8192;

  std::string alert;
  std::string labels;  // a digest of them

  bool operator==(const PendingNotification&) const = default;
};

PendingNotification pending_notification(const std::string& alert,
                                         const AlertNotification::Labels& labels);

std::string to_text(const std::vector<PendingNotification>& pending);
// What is in the text need not be trusted.
Result<std::vector<PendingNotification>> parse_pending_notifications(std::string_view text);

}  // namespace jetmem
