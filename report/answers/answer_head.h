// SPDX-License-Identifier: Apache-2.0
// What every answer for people and programs begins with: who looked, when, at what. An absent value
// has no key; `"absent": {"key": "why"}` gives the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/fields.h"
#include "report/device/device_now.h"

namespace jetmem {

struct AnswerFrom {
  std::string by;       // snapshot_origin_name()
  std::string from;     // an address or a path, for people; empty: this machine
  std::string version;  // of the jetmem that looked
  std::string boot_id;
  double since_boot = 0;           // seconds; 0: not known
  std::optional<double> wall;      // seconds since 1970
  std::vector<std::string> notes;  // what could not be queried
};

AnswerFrom answer_from(const DeviceNow& now);

void describe(json::Fields& v, AnswerFrom& from);
// {"schema": SCHEMA, "from": {by, at, version, boot_id, since_boot_seconds, time, notes}}
void describe_head(json::Fields& v, std::string_view schema, AnswerFrom& from);

// An answer of a head and what describe() writes of `body`, both in one object.
template <class T>
std::string write_answer(std::string_view schema, const AnswerFrom& from, const T& body,
                         int indent = 1) {
  // A writer only reads.
  return json::write_document(indent, [&](json::Fields& v) {
    describe_head(v, schema, const_cast<AnswerFrom&>(from));
    describe(v, const_cast<T&>(body));
  });
}
template <class T>
Result<T> read_answer(std::string_view schema, std::string_view text) {
  T out{};
  auto done = json::read_document(text, [&](json::Fields& v) {
    v.schema(schema);
    describe(v, out);
  });
  if (!done) return tl::unexpected(std::move(done.error()));
  return out;
}

// Why a value is not there, by key, in the order of the answer.
using Absences = std::vector<std::pair<std::string, std::string>>;

// The reason kept for this key; empty where there is none.
std::string absence_reason(const Absences& absences, std::string_view key);

// Keeps the reason where the value is absent; an empty `why` stands for "not reported".
void explain(Absences& absences, std::string_view key, const std::optional<double>& value,
             std::string_view why);

}  // namespace jetmem
