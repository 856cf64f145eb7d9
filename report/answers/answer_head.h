// What every answer for people and programs begins with: who looked, when, at what. And how a
// value that is not there is written: its key is left out, `"absent": {"key": "why"}` says why.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/device_now.h"

namespace jetmem {

struct AnswerFrom {
  std::string by;       // look_by_name()
  std::string from;     // an address or a path, for people; empty: this machine
  std::string version;  // of the jetmem that looked
  std::string boot_id;
  double since_boot = 0;           // seconds; 0: not known
  std::optional<double> wall;      // seconds since 1970
  std::vector<std::string> notes;  // what could not be asked for
};

AnswerFrom answer_from(const DeviceNow& now);

// {"schema": SCHEMA, "from": {by, at, version, boot_id, since_boot_seconds, time, notes}}
nlohmann::ordered_json answer_head(std::string_view schema, const AnswerFrom& from);

// Why a value is not there, by key, in the order of the answer.
using Absences = std::vector<std::pair<std::string, std::string>>;

// The reason kept for this key; empty where there is none.
std::string why_absent(const Absences& absences, std::string_view key);

// Keeps why, where the value is not there; an empty `why` says that nobody told it.
void explain(Absences& absences, std::string_view key, const std::optional<double>& value,
             std::string_view why);

// Writes the value under the key, or leaves it out where it is absent or not finite.
void put(nlohmann::ordered_json& to, std::string_view key, const std::optional<double>& value);
void put_text(nlohmann::ordered_json& to, std::string_view key, std::string_view text);
// "absent": {...}; nothing where the list is empty.
void put_absences(nlohmann::ordered_json& to, const Absences& absences);

// The document as it is sent and shown: indented, ends with a newline; bytes that are not UTF-8
// are replaced.
std::string answer_text(const nlohmann::ordered_json& answer);

}  // namespace jetmem
