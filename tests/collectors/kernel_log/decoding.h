// SPDX-License-Identifier: Apache-2.0
// For tests of decoders: lines in, finished events out.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "collectors/kernel_log/decode/assembler.h"

namespace jetmem::kernel_log {

inline std::vector<Event> events_of(std::string_view text, Soc soc = Soc::kUnknown,
                                    Voice voice = Voice::kUnknown) {
  std::vector<Event> events;
  Assembler assembler(soc, [&](const Event& event) { events.push_back(event); });
  Lines lines(text);
  LogLine line;
  line.voice = voice;
  while (lines.next(line.text)) {
    line.number = lines.number();
    assembler.line(line);
  }
  assembler.flush();
  return events;
}

// Every field of an event as "name=value", in order; lists as "name=[a,b]". For comparisons that
// show all of it when they fail.
inline std::string fields_of(const Event& event) {
  std::string text;
  std::string_view list;
  for (std::size_t i = 0; i < event.size(); ++i) {
    const Field& field = event[i];
    const bool goes_on = field.type == FieldType::kItem && list == field.name;
    if (!list.empty() && !goes_on) text += "]";
    if (!goes_on) text += (text.empty() ? "" : " ") + std::string(field.name) + "=";
    list = field.type == FieldType::kItem ? field.name : std::string_view();
    switch (field.type) {
      case FieldType::kText:
        text += event.text_of(field);
        break;
      case FieldType::kNumber:
        text += std::to_string(field.number);
        break;
      case FieldType::kBool:
        text += field.number != 0 ? "true" : "false";
        break;
      case FieldType::kNull:
        text += "null";
        break;
      case FieldType::kItem:
        text += (goes_on ? "," : "[") + std::string(event.text_of(field));
        break;
    }
  }
  return list.empty() ? text : text + "]";
}

// The events of a text, one a line: "kind field=value field=value".
inline std::string decoded(std::string_view text) {
  std::string out;
  for (const Event& event : events_of(text)) {
    out += std::string(info_of(event.kind()).name) + " " + fields_of(event) + "\n";
  }
  return out;
}

// The sentence about the only event of a text; empty when there is none or more than one.
inline std::string sentence_of(std::string_view text, Soc soc = Soc::kUnknown) {
  const std::vector<Event> events = events_of(text, soc);
  return events.size() == 1 ? describe(events[0]) : "";
}

// "kind field=value ..." of the one event in these lines; "" when there is none.
inline std::string one(std::string_view text) {
  std::string all = decoded(text);
  EXPECT_LE(std::count(all.begin(), all.end(), '\n'), 1) << text;
  if (!all.empty()) all.pop_back();
  return std::string(trim(all));
}

}  // namespace jetmem::kernel_log
