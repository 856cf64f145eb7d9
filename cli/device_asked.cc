#include "cli/device_asked.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "cli/captured_alerts.h"
#include "cli/daemon_client.h"
#include "cli/one_shot.h"
#include "cli/remote_history.h"
#include "cli/rule_input.h"
#include "history/store.h"
#include "report/kernel_event_record.h"

namespace jetmem {
namespace {

// Where systemd's jetmemd keeps its history.
constexpr const char* kHistoryDirectory = "/var/lib/jetmem";
constexpr const char* kHistoryFile = "/history.db";
constexpr const char* kCapturedHistory = "/jetmem/history.db";
// Before jetmem was written no clock was right.
constexpr std::int64_t kPlausible = 1'700'000'000;

Result<Settings> settings_of(const DeviceAsked& asked) {
  auto settings = settings_for("", asked.config);
  if (!settings) return fail(Errc::kInvalid, "the settings are wrong");
  return std::move(*settings);
}

SourceNow source_now(const SourceInfo& info, const SourceStatus& status,
                     const AbsentValues& absent) {
  SourceNow out;
  out.name = std::string(info.name);
  out.what = std::string(info.what);
  out.state = std::string(state_name(status.state));
  out.reason = printable(status.reason, 500);
  if (status.state == SourceState::kDenied) out.grant = std::string(info.grant);
  out.skipped = printable(status.skipped, 500);
  out.stale = status.stale;
  out.interval_seconds = static_cast<double>(info.interval.count()) / 1000;
  for (const AbsentValues::Count& count : absent.counts()) {
    if (count.count > 0) out.absent_values.emplace_back(count.reason, count.count);
  }
  return out;
}

Result<std::unique_ptr<History>> history_in(const std::string& file, const std::string& shown) {
  std::error_code error;
  const bool is_there = std::filesystem::exists(file, error);
  if (error) {
    return fail(errc_of_errno(error.value()),
                "no history: " + printable(shown, 300) + " cannot be read: " + error.message());
  }
  if (!is_there) return fail(Errc::kAbsent, "no history: there is no " + printable(shown, 300));
  // The directory may be open, and the file not.
  if (::access(file.c_str(), R_OK) != 0) {
    return fail(Errc::kDenied, "no history: " + printable(shown, 300) +
                                   " may not be read: root and the group jetmem may");
  }
  auto history = file_history(file);
  if (!history) return fail(Errc::kIo, "no history: " + printable(shown, 300) + " cannot be read");
  return history;
}

Result<DeviceNow> one_look(const std::string& root, const Settings& settings) {
  auto shot = OneShot::read(root, {});
  if (!shot) return tl::unexpected(std::move(shot.error()));
  DeviceNow out;
  out.by = root.empty() ? LookBy::kCommand : LookBy::kCapture;
  out.from = root;
  out.version = kVersion;
  const Facts& facts = (*shot)->facts();
  out.boot_id = facts.boot_id.value_or("");
  if (root.empty()) {
    const SystemClock clock;
    out.since_boot = to_seconds(clock.boot());
    if (clock.wall() > std::chrono::seconds(kPlausible)) out.wall = to_seconds(clock.wall());
  } else {
    if (facts.captured_at) out.wall = static_cast<double>(*facts.captured_at);
    if (facts.captured_at && facts.boot_time) {
      out.since_boot = static_cast<double>(*facts.captured_at - *facts.boot_time);
    }
  }
  out.samples = SampleSet::of((*shot)->table());
  for (const std::size_t i : (*shot)->chosen()) {
    const Sampler& sampler = (*shot)->sampler();
    out.sources.push_back(source_now(sampler.info(i), sampler.status(i), sampler.absent(i)));
  }
  out.alerts = captured_or_judged(root, **shot, settings.rules, out.notes);
  out.events = (*shot)->events();
  out.no_events = out.why_absent("kernel_log");
  return out;
}

}  // namespace

void add_device_options(CLI::App& command, DeviceAsked& asked) {
  command
      .add_option("--daemon", asked.daemon,
                  "Ask the jetmemd at this address (127.0.0.1:10743, unix:/path,\n"
                  "https://HOST:PORT) and no other")
      ->type_name("ADDRESS");
  command
      .add_option("--config", asked.config,
                  "Settings file, for http.listen and the rules (default: those of jetmemd)")
      ->type_name("FILE");
}

Result<DeviceNow> look_at_device(const DeviceAsked& asked) {
  if (!asked.root.empty() && !asked.daemon.empty()) {
    return fail(Errc::kInvalid, "--root and --daemon exclude each other");
  }
  const auto settings = settings_of(asked);
  if (!settings) return tl::unexpected(settings.error());
  if (!asked.root.empty()) {
    auto seen = one_look(asked.root, *settings);
    if (seen && !asked.root_name.empty()) seen->from = asked.root_name;
    return seen;
  }
  auto addresses = daemon_places(asked.daemon, settings->http, asked.access);
  if (!addresses) return tl::unexpected(std::move(addresses.error()));
  auto reply = ask_daemon(*addresses, "/api/v1/now");
  if (reply) {
    auto now = parse_device_now(reply->body);
    if (now) {
      now->from = reply->from.text();
      return now;
    }
    // Of another version, mostly. One look does not need it.
    reply = tl::unexpected(std::move(now.error()).within(reply->from.text()));
  }
  if (!asked.daemon.empty()) return tl::unexpected(std::move(reply.error()));
  auto seen = one_look("", *settings);
  if (seen) seen->notes.push_back(std::move(reply.error().message));
  return seen;
}

std::string shown_place(const DeviceAsked& asked, const std::string& place) {
  if (asked.root_name.empty() || asked.root.empty() || !place.starts_with(asked.root)) return place;
  return asked.root_name + place.substr(asked.root.size());
}

Result<std::unique_ptr<History>> history_of_device(const DeviceAsked& asked) {
  if (!asked.root.empty()) {
    if (!asked.daemon.empty())
      return fail(Errc::kInvalid, "--root and --daemon exclude each other");
    const std::string file = asked.root + kCapturedHistory;
    return history_in(file, shown_place(asked, file));
  }
  const auto settings = settings_of(asked);
  if (!settings) return tl::unexpected(settings.error());
  auto addresses = daemon_places(asked.daemon, settings->http, asked.access);
  if (!addresses) return tl::unexpected(std::move(addresses.error()));
  // One that answers here has a history; the smallest question there is.
  auto reply = ask_daemon(*addresses, "/api/v1/history?limit=1");
  if (reply) return remote_history(std::move(reply->from));
  if (!asked.daemon.empty()) return tl::unexpected(std::move(reply.error()));
  // What it wrote can be read without it.
  const std::string& directory = settings->history.directory;
  const std::string place =
      (directory.empty() ? std::string(kHistoryDirectory) : directory) + kHistoryFile;
  auto file = history_in(place, place);
  if (file) return file;
  return fail(file.error().code,
              file.error().message + "; nor does jetmemd tell of it: " + reply.error().message);
}

}  // namespace jetmem
