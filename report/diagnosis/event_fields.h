// SPDX-License-Identifier: Apache-2.0
// The fields of a recorded kernel-log event, to look at.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "history/event_record.h"

namespace jetmem::diagnosis {

std::string in_lower_case(std::string_view text);

class EventFields {
 public:
  // A record whose fields were too large to keep has none.
  explicit EventFields(const EventRecord& record);

  const std::string& kind() const { return kind_; }
  // The id of its message in the catalogue; empty: none, or recorded before there were any.
  std::string_view message() const { return text("message"); }
  // No message that jetmem knows: words suggest the kind.
  bool is_guess() const { return text("known") == "false"; }
  // "3fc00000.v3d", else the PCI address; empty: the log does not name one.
  std::string device() const;

  // False: only the kind is known, or what was left of a cut line.
  bool are_known() const { return are_known_; }

  bool has(std::string_view name) const { return fields_.contains(name); }
  // Empty where the event has no such field; a number as it is printed, a list with ", " between.
  std::string_view text(std::string_view name) const;
  // The first of these that is there, also if it was printed as text ("12", "0x33").
  std::optional<double> number(std::initializer_list<std::string_view> names) const;
  std::optional<double> number(std::string_view name) const { return number({name}); }
  // A size: a number of bytes, or as a program rounds it, "6637.69 MiB", "3.56G".
  std::optional<double> bytes(std::initializer_list<std::string_view> names) const;
  // The error as a positive number: errno 12 is printed as 12 or -12, as `ret` or `err` too. Not
  // `code`, which numbers a library's own errors.
  int errno_of() const;
  // Whether the field, or an item of it ("translation, multiple"), is this; case does not matter,
  // and numbers are compared as such ("0x7" is "0x07" and 7).
  bool is(std::string_view name, std::string_view value) const;

  // The same event with another value there.
  EventFields with(std::string_view name, std::string value) const;

 private:
  std::string kind_;
  bool are_known_ = false;
  std::map<std::string, std::string, std::less<>> fields_;
};

}  // namespace jetmem::diagnosis
