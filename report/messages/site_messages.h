// SPDX-License-Identifier: Apache-2.0
// A site's own messages, as they are in force: the valid ones of messages.directory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectors/kernel_log/catalogue/catalogue.h"
#include "config/yaml_files.h"
#include "report/messages/message_file.h"

namespace jetmem {

// More than this in all files together is not read.
inline constexpr std::size_t kMaxSiteMessageBytes = 1U << 20;

// The messages of a site's files, with their examples.
MessageFile read_site_messages(const YamlFiles& files);

// Must outlive every event that it decoded.
class SiteMessages {
 public:
  static std::unique_ptr<const SiteMessages> load(YamlFiles files);
  static std::unique_ptr<const SiteMessages> load(const std::string& directory) {
    return load(read_yaml_files(directory));
  }

  // Null where there is no message: nothing is to be looked for.
  const kernel_log::Catalogue* catalogue() const { return catalogue_.get(); }
  kernel_log::Catalogues catalogues() const { return {.second = catalogue()}; }
  std::size_t size() const { return file_.messages.size(); }
  // In the order of files. Entries with an error are not among the messages.
  const std::vector<ConfigError>& errors() const { return file_.errors; }
  bool has_same_text(const SiteMessages& other) const { return texts_ == other.texts_; }

 private:
  MessageFile file_;
  std::vector<std::string> texts_;
  std::unique_ptr<const kernel_log::Catalogue> catalogue_;
};

}  // namespace jetmem
