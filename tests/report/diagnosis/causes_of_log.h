// SPDX-License-Identifier: Apache-2.0
// The causes of a log's text, as `jetmem decode` finds them.
#pragma once

#include <string>
#include <vector>

#include "collectors/kernel_log/text_log.h"
#include "report/diagnosis/cause.h"
#include "report/events/kernel_event_record.h"

namespace jetmem::diagnosis {

inline std::vector<Cause> causes_of_log(const std::string& text,
                                        kernel_log::Soc soc = kernel_log::Soc::kUnknown) {
  std::vector<EventRecord> records;
  LogFacts facts;
  kernel_log::TextLog log(soc, [&](const kernel_log::Event& event, std::string_view time) {
    std::optional<Nanoseconds> at;
    if (event.stamp) at = *event.stamp;
    records.push_back(kernel_event_record(event, kernel_log::Origin::kSystem, at));
    records.back().printed_time = time;
  });
  facts.feed(text);
  facts.finish();
  log.feed(text);
  log.finish();
  std::vector<const EventRecord*> list;
  for (const EventRecord& each : records) list.push_back(&each);
  return explain(list, facts.facts());
}

}  // namespace jetmem::diagnosis
