// One look at a device: all that the answers for people and programs (status, doctor, cma, ...) are
// made of. The daemon serves it (/api/v1/now), a command takes it itself where there is no daemon
// or under --root, the recorder gives one of an earlier moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "history/event_record.h"
#include "report/alerts.h"
#include "report/sample_set.h"

namespace jetmem {

enum class LookBy : std::uint8_t {
  kDaemon,   // jetmemd, which knows the past
  kCommand,  // one look of a command: nothing that needs a past
  kCapture,  // one look at a captured or made-up tree
  kHistory,  // an earlier moment, out of the recorder
};
// "daemon", "command", "capture", "history".
std::string_view look_by_name(LookBy by);

struct SourceNow {
  std::string name;
  std::string what;
  std::string state;  // state_name(): "ok", "absent", "denied", "failed", "pending", "disabled"
  std::string reason;
  std::string grant;    // of a denied one
  std::string skipped;  // why the last reading was left out; empty: it was not
  bool stale = false;
  double interval_seconds = 0;
  std::vector<std::pair<std::string, std::uint64_t>> absent_values;  // by reason
};

struct DeviceNow {
  static constexpr std::string_view kSchema = "jetmem-now/1";

  LookBy by = LookBy::kCommand;
  std::string from;     // where it came from, for people: "unix:/run/jetmem/api.socket", a path
  std::string version;  // of the jetmem that looked
  std::string boot_id;
  std::int64_t boot = 0;  // the recorder's number of this boot, as in EventRecord; 0: it has none
  double since_boot = 0;  // seconds, boot clock; 0 where it is not known
  std::optional<double> wall;  // seconds since 1970, where the clock is plausible
  SampleSet samples;
  std::vector<SourceNow> sources;
  // Absent: not judged, and why.
  std::optional<AlertsAnswer> alerts;
  std::string no_alerts;
  // Of the last day, newest first, at most kMaxEvents; `no_events` says why they are not known.
  static constexpr std::size_t kMaxEvents = 256;
  std::vector<EventRecord> events;
  std::string no_events;
  // What could not be asked for that a person should know: "no daemon answers: ...". May be empty.
  std::vector<std::string> notes;

  const SourceNow* source(std::string_view name) const;
  // Why a metric of this source is not there: "source cma is denied: ..."; empty where it is ok.
  std::string why_absent(std::string_view source) const;
};

// At most kMaxDeviceNowJson bytes; what does not fit is left out and said in notes.
constexpr std::size_t kMaxDeviceNowJson = 4U << 20;
std::string device_now_json(const DeviceNow& now);
// Texts are made printable(): who answers may be anybody.
Result<DeviceNow> parse_device_now(std::string_view json);

}  // namespace jetmem
