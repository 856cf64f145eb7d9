// SPDX-License-Identifier: Apache-2.0
// One reading of a device: the input of all answers (status, doctor, cma, ...). The daemon serves
// it at /api/v1/now; without a daemon and under --root a command makes it; the recorder provides
// those of earlier moments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "history/event_record.h"
#include "report/alerts/alerts.h"
#include "report/device/cma_map.h"
#include "report/device/sample_set.h"

namespace jetmem {

enum class SnapshotOrigin : std::uint8_t {
  kDaemon,   // jetmemd, with history
  kCommand,  // one reading by a command, without history
  kCapture,  // one reading of a captured tree
  kHistory,  // an earlier moment from the recorder
};
// "daemon", "command", "capture", "history".
std::string_view snapshot_origin_name(SnapshotOrigin by);

struct SourceNow {
  std::string name;
  std::string what;
  std::string state;  // state_name(): "ok", "absent", "denied", "failed", "pending", "disabled"
  std::string reason;
  std::string grant;    // of a denied one
  std::string skipped;  // why the last reading was skipped; empty: it was not
  bool stale = false;
  double interval_seconds = 0;
  std::vector<std::pair<std::string, std::uint64_t>> absent_values;  // by reason

  std::uint64_t absent_count(std::string_view why) const {
    for (const auto& [each, count] : absent_values) {
      if (each == why) return count;
    }
    return 0;
  }
  // Its whole list takes the kernel so long that jetmemd omits it.
  bool is_read_in_part() const { return absent_count("bufinfo_omitted") > 0; }
  bool operator==(const SourceNow&) const = default;
};

struct DeviceNow {
  static constexpr std::string_view kSchema = "jetmem-now/1";

  SnapshotOrigin by = SnapshotOrigin::kCommand;
  std::string from;     // where it came from, for people: "unix:/run/jetmem/api.socket", a path
  std::string version;  // of the jetmem that looked
  std::string boot_id;
  std::string host_name;  // empty: not known
  std::int64_t boot = 0;  // the recorder's number of this boot, as in EventRecord; 0: it has none
  double since_boot = 0;  // seconds, boot clock; 0 where it is not known
  std::optional<double> wall;  // seconds since 1970, where the clock is plausible
  SampleSet samples;
  std::vector<SourceNow> sources;
  // Absent: not evaluated; no_alerts has the reason.
  std::optional<AlertsAnswer> alerts;
  std::string no_alerts;
  // Of the last day, newest first, at most kMaxEvents; `no_events` has the reason if they are
  // unknown.
  static constexpr std::size_t kMaxEvents = 256;
  std::vector<EventRecord> events;
  std::string no_events;
  std::optional<CmaMap> cma_map;  // absent: absence_reason("cma_map")
  // What could not be queried: "no daemon answers: ...". May be empty.
  std::vector<std::string> notes;

  const SourceNow* source(std::string_view name) const;
  // Why a metric of this source is absent: "source cma is denied: ..."; empty where it is ok.
  std::string absence_reason(std::string_view source) const;
  // The same, or this where the source is ok and yet has no such value.
  std::string absence_reason(std::string_view source, std::string_view otherwise) const {
    std::string why = absence_reason(source);
    return why.empty() ? std::string(otherwise) : why;
  }
};

// At most kMaxDeviceNowJson bytes; what does not fit is omitted and noted.
constexpr std::size_t kMaxDeviceNowJson = 4U << 20;
std::string device_now_json(const DeviceNow& now);
Result<DeviceNow> parse_device_now(std::string_view json);

}  // namespace jetmem
