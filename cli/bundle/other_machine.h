// SPDX-License-Identifier: Apache-2.0
// What a bundle of another machine is made of: the answers of the jetmemd that --daemon names.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/root/manifest.h"
#include "cli/client/device_client.h"

namespace jetmem {

struct OtherMachine {
  std::string address;
  Facts facts;
  std::vector<Manifest::SourceRemark> sources;
  std::vector<std::pair<std::string, std::string>> json;     // path in the bundle, text
  std::string metrics;                                       // as of /metrics; may be empty
  std::vector<std::pair<std::string, std::string>> missing;  // path in the bundle, reason
};

// Nothing where the daemon is that of this machine, as its boot's ID shows: then its files are its
// own. Errors: it does not answer.
Result<std::optional<OtherMachine>> ask_other_machine(DeviceClient& client);

}  // namespace jetmem
