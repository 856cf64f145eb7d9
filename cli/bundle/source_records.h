// SPDX-License-Identifier: Apache-2.0
// What the sources were given, on its way into a bundle: files where they lie on the device, and
// the records beside them (base/root/recorded.h).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/root/manifest.h"
#include "base/root/root.h"
#include "cli/bundle/pack.h"
#include "cli/bundle/redact.h"
#include "collectors/kernel_log/catalogue/catalogue.h"
#include "collectors/source.h"

namespace jetmem {

class SourceRecords {
 public:
  // `whole_log`: also the lines that jetmem does not decode.
  SourceRecords(const Root& root, BundleWriter& bundle, bool whole_log)
      : root_(root), bundle_(bundle), whole_log_(whole_log) {}

  void take(const SourceInfo& info, const Snapshot& snapshot);
  // From its beginning, where it is left: the newest of it. `site`: the site's own messages, or
  // null.
  void take_kernel_log(const SourceInfo& info, int fd, const kernel_log::Catalogue* site);

  bool has(std::string_view source) const { return taken_.contains(std::string(source)); }
  // Remarks on paths that could not be read and below which nothing was read.
  std::vector<Manifest::RecordedError> errors() const;
  const std::vector<Manifest::Omitted>& omitted() const { return omitted_; }
  // Why the bundle cannot be written; kept from the first time on.
  const Result<void>& result() const { return result_; }
  const Redacted& redacted() const { return redacted_; }

 private:
  std::string redacted_text(const FileText& file);
  bool put(const FileText& file);
  bool is_folder(const FileText& file) const;
  void keep(Result<void> result);

  const Root& root_;
  BundleWriter& bundle_;
  bool whole_log_;
  std::set<std::string, std::less<>> taken_;
  std::vector<Manifest::RecordedError> errors_;
  std::vector<Manifest::Omitted> omitted_;
  Redacted redacted_;
  Result<void> result_;
};

}  // namespace jetmem
