// SPDX-License-Identifier: Apache-2.0
// A pasted log from its bytes to causes and remedies: what is printed is printable, and it does not
// matter in which pieces the text came.
#include <memory>

#include "collectors/kernel_log/text_log.h"
#include "report/diagnosis/cause.h"
#include "report/events/kernel_event_record.h"
#include "tests/fuzz/target.h"

namespace jetmem::diagnosis {

static std::string explained(std::string_view text, std::size_t step) {
  std::vector<EventRecord> records;
  LogFacts facts;
  const auto log = std::make_unique<kernel_log::TextLog>(
      kernel_log::Soc::kTegra234, [&](const kernel_log::Event& event, std::string_view) {
        std::optional<Nanoseconds> at;
        if (event.stamp) at = *event.stamp;
        if (records.size() < 500) {
          records.push_back(kernel_event_record(event, kernel_log::Origin::kSystem, at));
        }
      });
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, step);
    facts.feed(piece);
    log->feed(piece);
    text.remove_prefix(piece.size());
  }
  facts.finish();
  log->finish();
  std::vector<const EventRecord*> list;
  for (const EventRecord& each : records) list.push_back(&each);
  std::string out;
  for (const Cause& each : explain(list, facts.facts())) {
    for (const std::string* said : {&each.id, &each.cause, &each.remedy, &each.device}) {
      check_shown(*said);
      out += *said + "\n";
    }
    check(!each.cause.empty() && !each.remedy.empty());
  }
  check_shown(facts.facts().kernel + facts.facts().l4t + facts.facts().command_line);
  return out;
}

}  // namespace jetmem::diagnosis

FUZZ(text) { check(diagnosis::explained(text, SIZE_MAX) == diagnosis::explained(text, 5)); }
