// Where a command gets what it shows: the daemon, one look of its own, or a captured tree.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "cli/daemon_place.h"
#include "config/settings.h"
#include "history/history.h"
#include "report/device_now.h"

namespace jetmem {

struct DeviceAsked {
  std::string root;                 // one look below it; empty: the daemon is asked
  std::string root_name;            // the root as it was given: a bundle lies unpacked elsewhere
  std::string daemon;               // asked and nobody else; empty: where it usually is
  std::vector<std::string> config;  // settings files
  ClientAccess access;              // to the daemon that is named
};

// --daemon and --config, which all commands that show a device have.
void add_device_options(CLI::App& command, DeviceAsked& asked);

// The daemon's answer of /api/v1/now; where none answers, or under a root, one look. Errors: the
// daemon that was named does not answer; the root cannot be read; the settings are wrong
// (kInvalid).
Result<DeviceNow> look_at_device(const DeviceAsked& asked);

// A path below the root, as the person named that: an unpacked bundle's folder is gone in a moment.
std::string shown_place(const DeviceAsked& asked, const std::string& place);

// The past: of the daemon (/api/v1/history, /api/v1/events), of the recorder's file where none
// answers, under a root of ROOT/jetmem/history.db. Errors: there is none, and why.
Result<std::unique_ptr<History>> history_of_device(const DeviceAsked& asked);

}  // namespace jetmem
