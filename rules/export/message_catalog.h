// SPDX-License-Identifier: Apache-2.0
// The systemd message catalog of the alerts: what `journalctl -x` prints below an entry.
#pragma once

#include <string>
#include <string_view>

#include "rules/model/rules.h"

namespace jetmem {

// The MESSAGE_ID of every entry about this alert: 32 hexadecimal digits that follow from its name,
// so that rules of a site's own have one too.
std::string alert_message_id(std::string_view alert);

// For journalctl --update-catalog. The fields it names are those of daemon/alert_log.
std::string message_catalog(const RuleSet& rules);

}  // namespace jetmem
