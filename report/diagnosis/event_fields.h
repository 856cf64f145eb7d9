// SPDX-License-Identifier: Apache-2.0
// The fields of a recorded kernel-log event, to look at.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "history/event_record.h"

namespace jetmem::diagnosis {

class EventFields {
 public:
  // A record whose fields were too large to keep has none.
  explicit EventFields(const EventRecord& record);

  const std::string& kind() const { return kind_; }
  // "3fc00000.v3d", else the PCI address; empty: the log does not name one.
  std::string device() const;

  // Seconds on the boot clock.
  std::optional<double> since_boot() const { return since_boot_; }

  bool has(std::string_view name) const { return fields_.contains(name); }
  // Empty where the event has no such field; a number as it is printed.
  std::string_view text(std::string_view name) const;
  // The first of these that is there, also if it was printed as text ("12", "0x33").
  std::optional<double> number(std::initializer_list<std::string_view> names) const;
  std::optional<double> number(std::string_view name) const { return number({name}); }
  // A size: a number of bytes, or as a program rounds it, "6637.69 MiB", "3.56G".
  std::optional<double> bytes(std::initializer_list<std::string_view> names) const;
  // The error as a positive number: errno 12 is printed as 12 or -12, as `ret` or `err` too.
  int errno_of() const;
  // Whether the sentence or a text field has this part; case does not matter.
  bool says(std::string_view part) const;
  bool says_any(std::initializer_list<std::string_view> parts) const;

 private:
  std::string kind_;
  std::optional<double> since_boot_;
  std::string words_;  // all texts in lower case
  std::map<std::string, std::string, std::less<>> fields_;
};

}  // namespace jetmem::diagnosis
