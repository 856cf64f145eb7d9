// SPDX-License-Identifier: Apache-2.0
#include "cli/text/events/cause_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text/text.h"
#include "cli/draw/terminal.h"

namespace jetmem {
namespace {

// Of one cause, whatever the device: the words of the first.
struct Folded {
  const diagnosis::Cause* first = nullptr;
  std::uint64_t events = 0;
  std::size_t devices = 0;
};

}  // namespace

std::string causes_text(std::span<const diagnosis::Cause> causes) {
  std::vector<Folded> all;
  for (const diagnosis::Cause& each : causes) {
    const auto same = std::find_if(
        all.begin(), all.end(), [&](const Folded& folded) { return folded.first->id == each.id; });
    if (same == all.end()) {
      all.push_back({&each, each.events, each.device.empty() ? 0U : 1U});
    } else {
      same->events += each.events;
      if (!each.device.empty()) ++same->devices;
    }
  }
  if (all.empty()) return {};
  std::string out = "\nCause and remedy, the likeliest root first:\n";
  for (std::size_t i = 0; i < std::min(all.size(), kMostCauses); ++i) {
    const diagnosis::Cause& it = *all[i].first;
    std::string head = "  " + it.id + " (" + counted(all[i].events, "event");
    if (all[i].devices > 1) head += ", " + counted(all[i].devices, "device");
    out += head + (it.harm == diagnosis::Harm::kNone ? ", harmless)\n" : ")\n");
    out += wrapped(it.cause, 4);
    if (!it.remedy.empty()) out += wrapped("Remedy: " + it.remedy, 4);
    std::string more = it.runbook.empty() ? "" : "Runbook: " + it.runbook;
    if (!it.link.empty()) more += (more.empty() ? "" : "; ") + std::string("see ") + it.link;
    if (!more.empty()) out += wrapped(more, 4);
  }
  if (all.size() > kMostCauses) {
    out +=
        "  and " + std::to_string(all.size() - kMostCauses) + " more: --json --causes lists them\n";
  }
  return out;
}

nlohmann::ordered_json cause_json(const diagnosis::Cause& cause) {
  nlohmann::ordered_json json;
  json["cause_id"] = cause.id;
  json["harm"] = diagnosis::harm_name(cause.harm);
  json["kind"] = cause.kind;
  if (!cause.device.empty()) json["device"] = cause.device;
  json["events"] = cause.events;
  json["cause"] = cause.cause;
  json["remedy"] = cause.remedy;
  json["runbook"] = cause.runbook;
  if (!cause.link.empty()) json["link"] = cause.link;
  return json;
}

}  // namespace jetmem
