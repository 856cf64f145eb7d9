// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle/other_machine.h"

#include <algorithm>
#include <cmath>

#include "base/text/text.h"
#include "collectors/sampler/registry.h"

namespace jetmem {
namespace {

constexpr std::chrono::seconds kDeadline{10};

Facts facts_of(const DeviceNow& now) {
  Facts facts;
  if (!now.boot_id.empty()) facts.boot_id = now.boot_id;
  if (!now.wall) return facts;
  facts.captured_at = std::llround(*now.wall);
  if (now.since_boot > 0 && now.since_boot < *now.wall) {
    facts.boot_time = std::llround(*now.wall - now.since_boot);
  }
  return facts;
}

std::vector<Manifest::SourceRemark> sources_of(const DeviceNow& now) {
  std::vector<Manifest::SourceRemark> out;
  for (const SourceNow& source : now.sources) {
    Manifest::SourceRemark note;
    note.name = source.name;
    note.state = printable(source.state, 20);
    note.reason = printable(source.reason, 500);
    out.push_back(std::move(note));
  }
  // Those that an older jetmemd does not have are not absent there.
  for (const SourceInfo* info : all_source_infos()) {
    if (now.source(info->name) != nullptr) continue;
    Manifest::SourceRemark note;
    note.name = info->name;
    note.state = "pending";
    out.push_back(std::move(note));
  }
  return out;
}

}  // namespace

Result<std::optional<OtherMachine>> ask_other_machine(DeviceClient& client) {
  auto reply = client.ask("/api/v1/now", kDeadline);
  if (!reply) return tl::unexpected(std::move(reply.error()));
  OtherMachine out;
  out.address = printable(reply->from.text(), 300);
  const auto now = parse_device_now(reply->body);
  if (!now) return fail(Errc::kUnavailable, out.address + ": " + now.error().message);
  const Facts here = Facts::of_this_machine();
  if (!now->boot_id.empty() && here.boot_id == now->boot_id) return std::nullopt;
  out.facts = facts_of(*now);
  out.sources = sources_of(*now);
  out.json.emplace_back(kCapturedNow, std::move(reply->body));
  for (const auto& [path, question] : {std::pair("/jetmem/alerts.json", "/api/v1/alerts"),
                                       std::pair(kCapturedDoctor, "/api/v1/doctor")}) {
    auto answer = client.ask(question, kDeadline);
    if (answer) {
      out.json.emplace_back(path, std::move(answer->body));
    } else {
      out.missing.emplace_back(path, answer.error().message);
    }
  }
  auto metrics = client.ask("/metrics", kDeadline);
  if (metrics) {
    out.metrics = std::move(metrics->body);
  } else {
    out.missing.emplace_back(kCapturedMetrics, metrics.error().message);
  }
  return std::optional<OtherMachine>(std::move(out));
}

}  // namespace jetmem
