// SPDX-License-Identifier: Apache-2.0
// Reduces a log to what a bundle may hold: the decoded parts of the lines that jetmem decodes. A
// list of what is private cannot be complete, so nothing else is taken; other lines leave only
// their time and their length.
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
  // A record of pstore; `name` is that of its file.
  std::string crash_record(std::string_view name, std::string_view text);
  // boots.json: its lines of crash records are reduced like those of a log.
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

// The texts of an event in JSON: its fields of free text, and the sentence about it.
struct EventTexts {
  std::string fields;
  std::string summary;
};
EventTexts reduce_event(std::string_view fields, std::string_view summary);

}  // namespace jetmem
