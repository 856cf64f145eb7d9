// SPDX-License-Identifier: Apache-2.0
#include "cli/client/device_client.h"

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/root/root.h"
#include "base/root/snapshot.h"
#include "base/text/text.h"
#include "base/version.h"
#include "cli/client/alerts_client.h"
#include "cli/client/daemon_client.h"
#include "cli/client/local_snapshot.h"
#include "cli/client/remote_history.h"
#include "cli/client/rule_input.h"
#include "history/store/store.h"

namespace jetmem {
namespace {

// Where systemd's jetmemd keeps its history.
constexpr const char* kHistoryDirectory = "/var/lib/jetmem";
constexpr const char* kHistoryFile = "/history.db";
constexpr const char* kCapturedHistory = "/jetmem/history.db";

Result<std::unique_ptr<History>> history_in(const std::string& file, const std::string& shown) {
  std::error_code error;
  const bool is_there = std::filesystem::exists(file, error);
  if (error) {
    return fail(errc_of_errno(error.value()),
                "no history: " + printable(shown, 300) + " cannot be read: " + error.message());
  }
  if (!is_there) return fail(Errc::kAbsent, "no history: missing file " + printable(shown, 300));
  // The directory may be open, and the file not.
  if (::access(file.c_str(), R_OK) != 0) {
    return fail(Errc::kDenied, "no history: " + printable(shown, 300) +
                                   " is readable only by root and the group jetmem");
  }
  return bounded_history(file, printable(shown, 300));
}

// The answer of its jetmemd, where a bundle was captured from another machine.
Result<std::optional<DeviceNow>> captured_now(const std::string& root) {
  const auto text = captured_text(root, kCapturedNow);
  if (!text) return std::nullopt;
  auto now = parse_device_now(*text);
  if (!now) return tl::unexpected(std::move(now.error()).within(kCapturedNow));
  now->by = SnapshotOrigin::kCapture;
  now->from = root;
  now->notes.emplace_back(
      "captured from the answers of its jetmemd: no files of that machine are in the bundle");
  return std::optional<DeviceNow>(std::move(*now));
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

Result<DeviceNow> local_snapshot(const std::string& root, const std::vector<std::string>& config,
                                 const Settings& settings) {
  if (!root.empty()) {
    auto captured = captured_now(root);
    if (!captured) return tl::unexpected(std::move(captured.error()));
    if (*captured) return std::move(**captured);
  }
  LocalSnapshotOptions local;
  local.config = config;
  auto shot = LocalSnapshot::read(root, {}, std::move(local));
  if (!shot) return tl::unexpected(std::move(shot.error()));
  DeviceNow out;
  out.by = root.empty() ? SnapshotOrigin::kCommand : SnapshotOrigin::kCapture;
  out.from = root;
  out.version = kVersion;
  const Facts& facts = (*shot)->facts();
  out.boot_id = facts.boot_id.value_or("");
  if (root.empty()) {
    const SystemClock clock;
    out.since_boot = to_seconds(clock.boot());
    if (clock.wall() >= kFirstPlausibleTime) out.wall = to_seconds(clock.wall());
  } else {
    if (facts.captured_at) out.wall = static_cast<double>(*facts.captured_at);
    if (facts.captured_at && facts.boot_time) {
      out.since_boot = static_cast<double>(*facts.captured_at - *facts.boot_time);
    }
  }
  out.samples = SampleSet::of((*shot)->table());
  const Sampler& sampler = (*shot)->sampler();
  for (std::size_t i = 0; i < sampler.size(); ++i) {
    out.sources.push_back(source_now(sampler.info(i), sampler.status(i), sampler.absent(i)));
  }
  out.cma_map = cma_map_of((*shot)->sampler().readings());
  out.alerts = captured_or_evaluated(root, **shot, settings.rules, out.notes);
  out.events = (*shot)->events();
  out.no_events = out.absence_reason("kernel_log");
  return out;
}

}  // namespace

const Result<Settings>& DeviceClient::settings() {
  if (!settings_) settings_ = settings_for(command_.c_str(), target_.config);
  return *settings_;
}

Result<DaemonReply> DeviceClient::ask(const std::string& path, std::chrono::milliseconds deadline) {
  if (never_answered_) return tl::unexpected(*never_answered_);
  if (!settings()) return tl::unexpected(settings().error());
  auto addresses = daemon_addresses(target_.daemon, settings()->http, target_.access);
  if (!addresses) return tl::unexpected(std::move(addresses.error()));
  is_silent_ = false;
  const auto begin = std::chrono::steady_clock::now();
  auto reply = query_daemon(*addresses, path, deadline, &is_silent_);
  if (reply) {
    from_ = reply->from.text();
  } else if (from_.empty() && std::chrono::steady_clock::now() - begin >= deadline) {
    // It hangs, and is not waited for again.
    never_answered_ = reply.error();
  }
  return reply;
}

std::string DeviceClient::note_missing(const Error& error, std::string_view instead) {
  if (!is_silent_) return error.message;
  const std::string note = "jetmemd runs but gave no answer (" + error.message + "): this is ";
  if (silent_.empty() && !command_.empty()) warn(command_, note + std::string(instead));
  silent_ = note + std::string(instead);
  return silent_;
}

Result<DeviceNow> DeviceClient::read_locally() {
  if (!settings()) return tl::unexpected(settings().error());
  auto seen = local_snapshot(target_.root, target_.config, *settings());
  if (seen && !target_.root_name.empty()) seen->from = target_.root_name;
  return seen;
}

Result<DeviceNow> DeviceClient::now() {
  if (!target_.root.empty()) return read_locally();
  auto now = ask("/api/v1/now", parse_device_now);
  if (now) now->from = from_;
  if (now || !can_do_without(now.error())) return now;
  auto seen = read_locally();
  if (seen) seen->notes.push_back(note_missing(now.error(), kOneReading));
  return seen;
}

int exit_unknown(const Target& requested, const Error& error) {
  switch (error.code) {
    case Errc::kInvalid:
    case Errc::kMalformed:
    case Errc::kAbsent:
    case Errc::kNotRegular:
      return exit_code(error.code);
    case Errc::kDenied:  // by jetmemd, or that file
      return exit_code(settings_error(requested.config)) == kExitDenied ? kExitDenied
                                                                        : kExitUnknown;
    default:
      return kExitUnknown;
  }
}

int undecided(std::string_view command, const Target& requested, const Error& error) {
  failed(command, error);
  return exit_unknown(requested, error);
}

std::optional<std::string> captured_text(const std::string& root, const std::string& path) {
  const auto tree = Root::at(root);
  if (!tree) return std::nullopt;
  int error = 0;
  const UniqueFd fd = tree->open_file(path, error);
  ByteBuffer bytes;
  if (!fd.valid() || read_to_end(fd.get(), 2 * kMaxDeviceNowJson, bytes) != 0) return std::nullopt;
  return std::string(bytes.view());
}

Result<std::map<std::string, std::string>> parse_texts(std::string_view json) {
  constexpr std::size_t kMaxText = 4U << 20;
  const auto parsed = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return fail(Errc::kUnavailable, "jetmemd's answer is invalid");
  std::map<std::string, std::string> out;
  for (const auto& [path, text] : parsed.items()) {
    if (text.is_string() && text.get_ref<const std::string&>().size() <= kMaxText) {
      out.emplace(path, text.get<std::string>());
    }
  }
  return out;
}

std::string displayed_path(const Target& requested, const std::string& location) {
  if (requested.root_name.empty() || requested.root.empty() ||
      !location.starts_with(requested.root))
    return location;
  return requested.root_name + location.substr(requested.root.size());
}

Result<std::unique_ptr<History>> DeviceClient::history_file() {
  if (!target_.root.empty()) {
    const std::string file = target_.root + kCapturedHistory;
    return history_in(file, displayed_path(target_, file));
  }
  if (!settings()) return tl::unexpected(settings().error());
  const std::string& directory = settings()->history.directory;
  const std::string file =
      (directory.empty() ? std::string(kHistoryDirectory) : directory) + kHistoryFile;
  return history_in(file, file);
}

Result<std::unique_ptr<History>> DeviceClient::history() {
  if (!target_.root.empty()) return history_file();
  // A daemon that answers this has a history; it is the smallest query.
  auto reply = ask("/api/v1/history?limit=1");
  if (reply) return remote_history(std::move(reply->from));
  if (!can_do_without(reply.error())) return tl::unexpected(std::move(reply.error()));
  auto file = history_file();
  if (!file) {
    return fail(file.error().code, file.error().message + "; jetmemd: " + reply.error().message);
  }
  note_missing(reply.error(), "its file; the newest values and events are missing");
  return file;
}

}  // namespace jetmem
