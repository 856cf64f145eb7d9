// SPDX-License-Identifier: Apache-2.0
// A site's own messages, for commands that read a kernel log.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/root/root.h"
#include "report/messages/site_messages.h"

namespace jetmem {

// messages.directory of the named settings files, or of those in force; where they have an error,
// its default.
std::string messages_directory(const std::vector<std::string>& config);
// The messages in that directory. For a bundle, and where no settings file is named, those that the
// bundle has. Errors are reported on standard error.
std::unique_ptr<const SiteMessages> site_messages_for(const std::vector<std::string>& config,
                                                      const Root& root);

}  // namespace jetmem
