// SPDX-License-Identifier: Apache-2.0
#include "report/messages/site_messages.h"

#include <utility>

namespace jetmem {

MessageFile read_site_messages(const YamlFiles& files) {
  MessageFile out;
  out.errors = files.errors;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < files.names.size(); ++i) {
    bytes += files.texts[i].size();
    if (bytes > kMaxSiteMessageBytes) {
      out.errors.push_back({.file = files.names[i],
                            .key = {},
                            .message = "is not read: the files have more than " +
                                       std::to_string(kMaxSiteMessageBytes >> 10) +
                                       " KiB together; remove what is not needed"});
      break;
    }
    read_messages(MessageForm::kUser, files.names[i], files.texts[i], out);
  }
  return out;
}

std::unique_ptr<const SiteMessages> SiteMessages::load(YamlFiles files) {
  auto out = std::make_unique<SiteMessages>();
  out->file_ = read_site_messages(files);
  // They are for whoever checks them.
  out->file_.examples = {};
  out->texts_ = std::move(files.texts);
  if (!out->file_.messages.empty()) {
    out->catalogue_ = std::make_unique<const kernel_log::Catalogue>(out->file_.messages);
  }
  return out;
}

}  // namespace jetmem
