// SPDX-License-Identifier: Apache-2.0
// The data of a command: from the daemon, from one reading, or from a captured tree. Without a root
// jetmemd is queried; below one the device is read once.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/client/daemon_client.h"
#include "cli/command.h"
#include "config/settings.h"
#include "history/history.h"
#include "report/device/device_now.h"

namespace jetmem {

// The first paragraph of their help.
inline constexpr const char* kAsksDaemon =
    "Asks jetmemd: at /run/jetmem/api.socket, then at the addresses of http.listen. If none "
    "answers, or with --root, jetmem reads the device once itself. Values that could not be read "
    "are shown as unknown with the reason, never as 0.\n";

inline constexpr std::string_view kOneReading =
    "one reading without it; alerts that fire there are not shown";

// What one command asks of the device it looks at. A daemon that hangs is asked once.
class DeviceClient {
 public:
  // `command` warns, once, where a jetmemd listens but gave no usable answer; empty: nobody does.
  // `settings`: where they are known.
  DeviceClient(std::string_view command, Target target,
               std::optional<Result<Settings>> settings = std::nullopt)
      : command_(command), target_(std::move(target)), settings_(std::move(settings)) {}

  // Read once. Errors: settings_error().
  const Result<Settings>& settings();
  // GET of `path` from the daemon that is named, else from the one at the usual addresses. Errors:
  // as query_daemon(), or of the settings.
  Result<DaemonReply> ask(const std::string& path,
                          std::chrono::milliseconds deadline = std::chrono::seconds(3));
  // The same, read by `parse`. What cannot be read, usually of another version, is no answer.
  template <class Answer>
  Result<Answer> ask(const std::string& path, Result<Answer> (*parse)(std::string_view),
                     std::chrono::milliseconds deadline = std::chrono::seconds(3)) {
    const auto reply = ask(path, deadline);
    if (!reply) return tl::unexpected(reply.error());
    auto answer = parse(reply->body);
    if (answer) return answer;
    is_silent_ = true;
    return fail(Errc::kUnavailable, std::move(answer.error()).within(from_).message);
  }
  // Who answered last.
  const std::string& from() const { return from_; }
  // Whether a command may do without: no daemon is named, nothing is wrong with the question and
  // the settings.
  bool can_do_without(const Error& error) const {
    return target_.daemon.empty() && error.code != Errc::kInvalid && settings_ && *settings_;
  }
  // Why there is no answer; where a jetmemd listens, also what is shown in its place.
  std::string note_missing(const Error& error, std::string_view instead);
  // That note of a jetmemd that listens; empty: it is not so.
  const std::string& silent() const { return silent_; }

  // The daemon's answer of /api/v1/now; if none answers, or below a root, one reading (of a bundle
  // that was captured from afar, the answer in it), with a note. Errors: the named daemon does not
  // answer; the root cannot be read; invalid settings.
  Result<DeviceNow> now();
  // One reading by this program, of this machine or below the root.
  Result<DeviceNow> read_locally();
  // The past: of the daemon (/api/v1/history, /api/v1/events), of the recorder's file where none
  // answers, under a root of ROOT/jetmem/history.db. Errors: there is none, and why.
  Result<std::unique_ptr<History>> history();
  // The file alone.
  Result<std::unique_ptr<History>> history_file();

 private:
  std::string command_;
  Target target_;
  std::optional<Result<Settings>> settings_;
  std::string from_;
  std::string silent_;
  bool is_silent_ = false;  // something listens that gave no usable answer
  std::optional<Error> never_answered_;
};

// The exit status of a command that judges the device: what could not be asked is unknown. A
// mistake in the command line or in a file that it names is none of the device's.
int exit_unknown(const Target& requested, const Error& error);
// As failed(), with that exit status.
int undecided(std::string_view command, const Target& requested, const Error& error);

// What a bundle of another machine holds in place of its files: the answers of its jetmemd.
inline constexpr const char* kCapturedNow = "/jetmem/now.json";
inline constexpr const char* kCapturedDoctor = "/jetmem/doctor.json";
inline constexpr const char* kCapturedMetrics = "/jetmem/metrics.txt";
// A file of a captured tree; nothing: there is none, or it cannot be read.
std::optional<std::string> captured_text(const std::string& root, const std::string& path);

// The answer of /api/v1/texts by path.
Result<std::map<std::string, std::string>> parse_texts(std::string_view json);

// A path below the root, as the person named that: an unpacked bundle's folder is gone in a moment.
std::string displayed_path(const Target& requested, const std::string& location);

}  // namespace jetmem
