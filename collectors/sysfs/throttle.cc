// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/throttle.h"

#include <algorithm>

#include "base/text/text.h"
#include "collectors/storage.h"
#include "collectors/sysfs/sysfs_text.h"
#include "collectors/sysfs/values.h"

namespace jetmem {
namespace {

constexpr std::string_view kThermal = "/sys/class/thermal";
constexpr std::string_view kHwmonClass = "/sys/class/hwmon";
// Where the hwmon class shows nothing of it (a captured tree without links).
constexpr std::string_view kSoctherm = "/sys/devices/platform/soctherm-oc-event/hwmon";
constexpr std::string_view kSocthermName = "soctherm_oc";
constexpr std::string_view kLeftOut = "cooling devices omitted";
constexpr std::string_view kChipsLeftOut = "hwmon devices omitted";
constexpr std::size_t kMaxThrottleCooling = 256;
constexpr std::size_t kMaxHwmon = 64;
constexpr std::size_t kMaxCauses = 48;

constexpr std::array<std::string_view, Throttle::kMaxEvents> kEventNames{
    "oc1", "oc2", "oc3", "oc4", "oc5", "oc6", "oc7", "oc8"};

constexpr std::array kThrottleMetrics{
    gauge("jetmem_throttling",
          "1 while anything slows the chip down: any jetmem_throttle_active. A probe or a model "
          "that is slow meanwhile is slow for that reason, not because memory is short. "
          "Over-current slows it for moments too short to be seen here: look at "
          "jetmem_overcurrent_events_total. Absent while not all causes can be read.",
          {}, 1, Worst::kMax),
    gauge("jetmem_throttle_active",
          "1 while this slows the chip down. *-throttle-alert: that part is above its throttling "
          "temperature. cpufreq-*, devfreq-*: the kernel cuts that clock. Look at "
          "jetmem_thermal_zone_celsius, the fan and the power mode.",
          {"cause"}, kMaxCauses, Worst::kMax),
    gauge("jetmem_thermal_alert_active",
          "1 while the board warns without slowing down. hot-surface-alert: the case is hot to "
          "the touch (from 70 C on an Orin), which is normal under load.",
          {"alert"}, kMaxCauses, Worst::kMax),
    counter("jetmem_overcurrent_events_total",
            "How often the hardware's over-current protection triggered, since boot. Look at the "
            "rate; a number above 0 alone means nothing. On Orin oc1 is under-voltage (a weak "
            "supply or cable), oc2 a high average current, oc3 a short peak, which rises under "
            "bursts of GPU work in the unlimited power modes.",
            {"event"}, Throttle::kMaxEvents),
    gauge("jetmem_overcurrent_throttle_enabled",
          "1 when this over-current event slows the chip down, 0 when it is only counted.",
          {"event"}, Throttle::kMaxEvents),
};
enum ThrottleMetric : std::size_t { kThrottling, kActive, kAlert, kEvents, kThrottles };

struct EventFile {
  std::size_t index = 0;
  bool is_count = false;
};

// "oc3_event_cnt"; none for a file that is not of an event's.
std::optional<EventFile> event_of(std::string_view leaf, bool& beyond_bound) {
  if (!take_prefix(leaf, "oc")) return std::nullopt;
  const std::size_t underscore = leaf.find('_');
  if (underscore == std::string_view::npos) return std::nullopt;
  const auto number = small_number(leaf.substr(0, underscore));
  const std::string_view what = leaf.substr(underscore);
  const bool is_count = what == "_event_cnt" || what == "_irq_cnt";
  if (!number || *number == 0 || (!is_count && what != "_throt_en")) return std::nullopt;
  if (*number > Throttle::kMaxEvents) {
    beyond_bound = is_count;
    return std::nullopt;
  }
  return EventFile{*number - 1, is_count};
}

// Reads a type and, if it is one of ours, the state.
void gather_cooling(Gatherer& files, std::vector<std::string>& names) {
  const int error = files.list(kThermal, names);
  if (error != 0 && !is_gone(error)) files.add(kThermal, {}, error);
  std::uint64_t left_out = 0;
  std::size_t read = 0;
  for (const std::string& name : names) {
    if (!name.starts_with("cooling_device")) continue;
    if (read == kMaxThrottleCooling || !files.has_room()) {
      ++left_out;
      continue;
    }
    ++read;
    const std::string folder = std::string(kThermal) + "/" + name;
    const FileText type = files.read(folder + "/type");
    const auto text = type.ok() ? one_name(type.text) : std::nullopt;
    if (is_gone(type.error) || (text && kind_of_cooling(*text) == Throttle::Kind::kNone)) {
      files.forget();
      continue;
    }
    files.read(folder + "/cur_state");
  }
  if (left_out > 0) files.note(kLeftOut, left_out);
}

bool gather_events(Gatherer& files, std::string_view directory, std::vector<std::string>& names) {
  const int error = files.list(directory, names);
  if (error != 0 && !is_gone(error)) files.add(directory, {}, error);
  if (names.size() > kMaxHwmon) {
    files.note(kChipsLeftOut, names.size() - kMaxHwmon);
    names.resize(kMaxHwmon);
  }
  bool found = false;
  std::vector<std::string> leaves;
  for (const std::string& name : names) {
    if (!name.starts_with("hwmon") || !files.has_room()) continue;
    const std::string folder = std::string(directory) + "/" + name;
    const FileText chip = files.read(folder + "/name");
    const bool is_ours = chip.ok() && one_value(chip.text) == kSocthermName;
    if (chip.ok() || is_gone(chip.error)) files.forget();
    if (!is_ours) continue;
    found = true;
    if (const int denied = files.list(folder, leaves); denied != 0) files.add(folder, {}, denied);
    for (const std::string& leaf : leaves) {
      bool beyond_bound = false;
      if (!event_of(leaf, beyond_bound) && !beyond_bound) continue;
      if (!files.has_room()) break;
      files.read(folder + "/" + leaf);
    }
  }
  return found;
}

void gather_throttle(Gatherer& files) {
  std::vector<std::string> names;
  gather_cooling(files, names);
  if (!gather_events(files, kHwmonClass, names)) gather_events(files, kSoctherm, names);
}

class ThrottleFiles {
 public:
  ThrottleFiles(const Snapshot& snapshot, Throttle& out)
      : snapshot_(snapshot), out_(out), values_(snapshot, out.absent, reason_of) {}

  Result<void> run() {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) take(static_cast<Record>(i));
    finish_causes();
    if (values_.any()) return {};
    if (auto error = values_.error()) return tl::unexpected(std::move(*error));
    return fail(Errc::kAbsent,
                "no cooling device that cuts clocks and no over-current counter on this machine");
  }

 private:
  struct Raw {
    std::uint32_t number = 0;
    Throttle::Kind kind = Throttle::Kind::kNone;
    std::string_view type;
    std::optional<bool> active;
  };

  void take(Record record) {
    const FileText file = values_.file(record);
    std::string_view rest = file.path;
    if (take_prefix(rest, "jetmem:")) {
      const auto left_out = one_u64(file.text);
      if ((rest != kLeftOut && rest != kChipsLeftOut) || !left_out) return;
      out_.absent.add("beyond_bound", *left_out);
      if (rest == kLeftOut) unknown_ = true;
    } else if (take_prefix(rest, kThermal)) {
      take_thermal(record, rest);
    } else if (take_prefix(rest, kHwmonClass) || take_prefix(rest, kSoctherm)) {
      take_hwmon(record, rest);
    }
  }

  void take_thermal(Record record, std::string_view rest) {
    if (rest.empty() && !values_.file(record).ok()) {
      values_.missing(record);
      unknown_ = true;
    }
    if (!take_prefix(rest, "/cooling_device")) return;
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const auto number = small_number(rest.substr(0, slash));
    const std::string_view leaf = rest.substr(slash);
    if (!number || (leaf != "/type" && leaf != "/cur_state")) return;
    Raw* raw = cooling_.find_or_add(&Raw::number, *number);
    if (raw == nullptr) {
      if (leaf == "/type") out_.absent.add("beyond_bound");
      unknown_ = true;
    } else if (leaf == "/type") {
      take_type(record, *raw);
    } else {
      take_state(record, *raw);
    }
  }

  void take_type(Record record, Raw& raw) {
    raw.type = values_.name(record);
    raw.kind = kind_of_cooling(raw.type);
    // Something that may slow the chip, and it is not known what.
    unknown_ = unknown_ || raw.type.empty();
  }

  // Its type was read first. Without one this may be a fan's; that it is missing is counted there.
  void take_state(Record record, Raw& raw) {
    if (raw.kind == Throttle::Kind::kNone) return;
    if (const auto state = values_.number(record)) raw.active = *state > 0;
  }

  void take_hwmon(Record record, std::string_view rest) {
    const std::size_t slash = rest.rfind('/');
    const std::string_view leaf =
        slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    bool beyond_bound = false;
    const auto event = event_of(leaf, beyond_bound);
    if (beyond_bound) out_.absent.add("beyond_bound");
    if (!event) {
      // A folder that could not be listed.
      if (!values_.file(record).ok() && !beyond_bound) values_.missing(record);
      return;
    }
    // All bits set: the register could not be read.
    const auto value = event->is_count ? values_.number(record, 0, UINT32_MAX - 1, kImpossible)
                                       : values_.number(record, 0, 1);
    if (!value) return;
    Throttle::Event& out = out_.events[event->index];
    if (event->is_count ? out.count.has_value() : out.throttles.has_value()) {
      out_.absent.add("duplicate");
    } else if (event->is_count) {
      out.count = value;
    } else {
      out.throttles = *value == 1;
    }
  }

  void finish_causes() {
    std::sort(cooling_.begin(), cooling_.end(), [](const Raw& a, const Raw& b) {
      return a.type != b.type ? a.type < b.type : a.number < b.number;
    });
    bool any_throttle = false;
    bool any_active = false;
    Throttle::Cause* cause = nullptr;
    for (const Raw& raw : cooling_) {
      if (raw.kind == Throttle::Kind::kNone) continue;
      if (raw.kind == Throttle::Kind::kThrottle) {
        any_throttle = true;
        unknown_ = unknown_ || !raw.active;
        any_active = any_active || raw.active == true;
      }
      if (cause == nullptr || cause->type != raw.type) {
        if (out_.causes.size() == kMaxCauses) {
          out_.absent.add("beyond_bound");
          continue;
        }
        cause = &out_.causes.emplace_back();
        cause->type = raw.type;
        cause->kind = raw.kind;
        cause->active = raw.active;
      } else if (raw.active == true || !raw.active) {
        // Of several of one type one that works is enough; "none does" takes knowing all.
        if (cause->active != true) cause->active = raw.active;
      }
    }
    if (any_active) {
      out_.throttling = true;
    } else if (any_throttle && !unknown_) {
      out_.throttling = false;
    }
  }

  const Snapshot& snapshot_;
  Throttle& out_;
  Values values_;
  BoundedList<Raw, kMaxThrottleCooling> cooling_;
  bool unknown_ = false;
};

}  // namespace

const SourceInfo ThrottleSource::kInfo{
    .name = "throttle",
    .what = "what slows the chip down now: throttle alerts and over-current events",
    .access = Access::kReader,
    .interval = std::chrono::seconds(5),
    .shortest_interval = std::chrono::seconds(1),
    .grant =
        "read access to /sys/class/thermal and /sys/class/hwmon for jetmem-reader, or run as "
        "root",
    .metrics = kThrottleMetrics,
    .limits = {.file_bytes = 4096, .total_bytes = 256U << 10, .files = 1024},
    .gather = gather_throttle,
};

Throttle::Kind kind_of_cooling(std::string_view type) {
  if (type.ends_with("-throttle-alert") || type.ends_with("-balanced") ||
      type.ends_with("-heavy") || type == "heavy" || type == "light") {
    return Throttle::Kind::kThrottle;
  }
  for (const std::string_view begin :
       {"cpufreq-", "devfreq-", "thermal-cpufreq-", "thermal-devfreq-"}) {
    if (type.starts_with(begin)) return Throttle::Kind::kThrottle;
  }
  return type.ends_with("-alert") ? Throttle::Kind::kWarning : Throttle::Kind::kNone;
}

Result<void> parse_throttle(const Snapshot& snapshot, Throttle& out) {
  out = {};
  return ThrottleFiles(snapshot, out).run();
}

void ThrottleSource::write(SampleWriter& out, WriteContext& /*context*/) const {
  out.put(kThrottleMetrics[kThrottling], reading_.throttling);
  for (const Throttle::Cause& cause : reading_.causes) {
    const bool is_warning = cause.kind == Throttle::Kind::kWarning;
    out.put(kThrottleMetrics[is_warning ? kAlert : kActive], cause.active, cause.type);
  }
  for (std::size_t i = 0; i < reading_.events.size(); ++i) {
    const Throttle::Event& event = reading_.events[i];
    out.put(kThrottleMetrics[kEvents], event.count, kEventNames[i]);
    out.put(kThrottleMetrics[kThrottles], event.throttles, kEventNames[i]);
  }
}

}  // namespace jetmem
