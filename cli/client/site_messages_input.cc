// SPDX-License-Identifier: Apache-2.0
#include "cli/client/site_messages_input.h"

#include "base/text/print_error.h"
#include "base/text/text.h"
#include "cli/draw/terminal.h"
#include "collectors/sampler/registry.h"
#include "config/load.h"

namespace jetmem {

std::string messages_directory(const std::vector<std::string>& config) {
  const auto settings = load_named_or_default(config, known_sources());
  return settings ? settings->values.messages.directory : MessagesSettings().directory;
}

std::unique_ptr<const SiteMessages> site_messages_for(const std::vector<std::string>& config) {
  const std::string directory = messages_directory(config);
  auto messages = SiteMessages::load(directory);
  if (!messages->errors().empty()) {
    print_error("jetmem: " + counted(messages->errors().size(), "error") + " in " +
                printable(directory) + ": `jetmem messages check` lists them");
  }
  return messages;
}

}  // namespace jetmem
