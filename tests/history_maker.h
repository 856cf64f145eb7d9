// SPDX-License-Identifier: Apache-2.0
// What the programs that make history files for tests share. They end where something fails.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "history/store/store.h"

namespace jetmem {

template <typename Got>
Got or_exit(const char* what, Got result) {
  if (result) return result;
  std::fprintf(stderr, "%s: %s\n", what, result.error().message.c_str());
  std::exit(1);
}

inline std::unique_ptr<HistoryStore> open_history(const char* file) {
  HistoryStore::Options options;
  options.file = file;
  return std::move(or_exit("open", HistoryStore::open(options))->store);
}

inline void tidy_all(HistoryStore& store, std::int64_t boot, Nanoseconds now) {
  while (*or_exit("tidy", store.tidy(boot, now))) {
  }
}

inline EventRecord event_of(EventWhat what, const char* kind, const char* severity, Nanoseconds at,
                            const char* subject, std::string summary) {
  EventRecord event;
  event.what = what;
  event.kind = kind;
  event.severity = severity;
  if (what == EventWhat::kKernel) event.origin = "system";
  event.subject = subject;
  event.summary = std::move(summary);
  event.at = at;
  return event;
}

}  // namespace jetmem
