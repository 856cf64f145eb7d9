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

// GET of `path` from the daemon that is named, else from the one at the usual addresses.
Result<DaemonReply> ask_daemon(const Target& requested, const HttpSettings& http,
                               const std::string& path,
                               std::chrono::milliseconds deadline = std::chrono::seconds(3),
                               bool* is_silent = nullptr);

// The warning where a jetmemd listens but gave no usable answer, and what is shown in its place.
std::string silent_daemon_note(const std::string& problem, std::string_view instead);
inline constexpr std::string_view kOneReading =
    "one reading without it; alerts that fire there are not shown";

// The daemon's answer of /api/v1/now; if none answers, or below a root, one reading (of a bundle
// that was captured from afar, the answer in it). Errors: the named daemon does not answer; the
// root cannot be read; invalid settings (settings_error()).
// `silent` is that note where it is so; it is among the notes of the answer too.
Result<DeviceNow> query_device(const Target& requested, std::string* silent = nullptr);
// One reading by this program, of this machine or below the root.
Result<DeviceNow> read_device(const Target& requested);
// As query_device(), and the note also goes to stderr.
Result<DeviceNow> query_device_for(std::string_view command, const Target& requested,
                                   std::string* silent = nullptr);

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

// The past: of the daemon (/api/v1/history, /api/v1/events), of the recorder's file where none
// answers, under a root of ROOT/jetmem/history.db. Errors: there is none, and why. `silent` is as
// that of query_device().
Result<std::unique_ptr<History>> open_device_history(const Target& requested,
                                                     std::string* silent = nullptr);
// The file alone, where the daemon was asked and did not answer.
Result<std::unique_ptr<History>> open_history_file(const Target& requested);

}  // namespace jetmem
