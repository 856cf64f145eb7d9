// SPDX-License-Identifier: Apache-2.0
#include "report/events/event_kind_names.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "collectors/kernel_log/event/kinds.h"
#include "config/yaml_fields.h"
#include "history/event_record.h"
#include "rules/engine/transition.h"

namespace jetmem {
namespace {

std::vector<std::string_view> event_kind_names() {
  std::vector<std::string_view> names(kDaemonEventKinds.begin(), kDaemonEventKinds.end());
  names.emplace_back(kMarkEventKind);
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) names.push_back(info.name);
  for (const Change change : kAllChanges) names.push_back(change_name(change));
  return names;
}

}  // namespace

Result<void> check_event_kind(std::string_view name) {
  static const std::vector<std::string_view> names = event_kind_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  return fail(Errc::kInvalid, "no event has the kind '" + printable(name, 100) + "'" +
                                  did_you_mean(name, names, "; docs/kernel-events.md lists them"));
}

}  // namespace jetmem
