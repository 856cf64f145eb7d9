// SPDX-License-Identifier: Apache-2.0
#include "cli/client/site_messages_input.h"

#include "base/root/snapshot.h"
#include "base/text/print_error.h"
#include "base/text/text.h"
#include "cli/draw/terminal.h"
#include "collectors/sampler/registry.h"
#include "config/files.h"
#include "config/load.h"

namespace jetmem {

std::string messages_directory(const std::vector<std::string>& config) {
  const auto settings = load_named_or_default(config, known_sources());
  return settings ? settings->values.messages.directory : MessagesSettings().directory;
}

namespace {

// Of a bundle: nothing outside its tree is opened.
YamlFiles captured_files(const Root& root, const std::string& folder) {
  YamlFiles out;
  std::vector<std::string> names;
  bool cut = false;
  if (root.list(folder, kMaxConfigFiles, names, cut) != 0) return out;
  if (cut) {
    out.errors.push_back({.file = folder,
                          .key = {},
                          .message = "has more than " + std::to_string(kMaxConfigFiles) +
                                     " files: those beyond are not read"});
  }
  for (const std::string& name : names) {
    out.names.push_back(folder + "/" + name);
    int error = 0;
    const UniqueFd fd = root.open_file(out.names.back(), error);
    ByteBuffer bytes;
    if (fd.valid()) error = read_to_end(fd.get(), kMaxSiteMessageBytes, bytes);
    if (error != 0) {
      out.errors.push_back({.file = std::move(out.names.back()),
                            .key = {},
                            .message = FileText{name, {}, error}.as_error().message});
      out.names.pop_back();
    } else {
      out.texts.emplace_back(bytes.view());
    }
  }
  return out;
}

}  // namespace

std::unique_ptr<const SiteMessages> site_messages_for(const std::vector<std::string>& config,
                                                      const Root& root) {
  constexpr const char* kCaptured = "/jetmem/config";
  std::vector<std::string> names;
  bool cut = false;
  const bool captured =
      config.empty() && !root.is_live() && root.list(kCaptured, 1, names, cut) == 0;
  const std::string directory =
      captured ? std::string(kCaptured) + "/messages" : messages_directory(config);
  auto messages =
      SiteMessages::load(captured ? captured_files(root, directory) : read_yaml_files(directory));
  if (!messages->errors().empty()) {
    print_error("jetmem: " + counted(messages->errors().size(), "error") + " in " +
                printable(directory) + ": `jetmem messages check` lists them");
  }
  return messages;
}

}  // namespace jetmem
