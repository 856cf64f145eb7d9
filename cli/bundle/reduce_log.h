// SPDX-License-Identifier: Apache-2.0
// What of a log goes into a bundle: the lines that jetmem decodes, and of them what it decodes. A
// list of what is private cannot be complete, so nothing else is taken: of other lines only when
// they were printed and how long they were.
//
// A word stays if the line means something else without it: it is part of the message's form, or
// of the value of a field. Values of free text keep words that are no more than words and numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/bundle/redact.h"
#include "collectors/kernel_log/decode/decode.h"

namespace jetmem {

class LogReducer {
 public:
  // `site`: the site's own messages, or null.
  LogReducer(const kernel_log::Catalogue* site, Redacted& counts)
      : catalogues_{.second = site}, counts_(counts) {}

  // Records of /dev/kmsg, each as one record; or lines of any other log.
  std::string kernel_log(std::string_view text);
  // Of a record of pstore, by its name.
  std::string crash_record(std::string_view name, std::string_view text);
  // boots.json, of which the lines of crash records are a log's.
  std::string boots(std::string_view json);
  // Nothing: jetmem does not decode it.
  std::optional<std::string> message(const kernel_log::LogLine& line);

 private:
  struct Reduced {
    std::string text;
    bool begins = false;  // it is, or opens, an event
  };
  Reduced record_text(std::string_view text, kernel_log::LogLine line);
  std::string take_record(std::string_view raw);
  std::string crash_line(std::string_view text);
  std::string omitted(std::string_view text);

  kernel_log::Catalogues catalogues_;
  Redacted& counts_;
  // The record before, which a fragment goes on with, as in LineFeed.
  std::string last_text_;
  std::string last_caller_;
  std::size_t last_first_ = 0;
  bool last_begins_ = false;
};

// Of an event as JSON has it: its fields of free text, and the sentence about it.
struct EventTexts {
  std::string fields;
  std::string summary;
};
EventTexts reduce_event(std::string_view fields, std::string_view summary);

}  // namespace jetmem
