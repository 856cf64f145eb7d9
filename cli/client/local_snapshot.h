// SPDX-License-Identifier: Apache-2.0
// Reads sources once, without a daemon: through the same Sampler and the same jetmem-reader, so
// that a source that hangs in the kernel costs a command its deadline and not the terminal.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/root/root.h"
#include "collectors/kernel_log/source.h"
#include "collectors/sampler/sampler.h"
#include "history/event_record.h"
#include "metrics/sample.h"
#include "report/messages/site_messages.h"

namespace jetmem {

// Hooks for the raw text of what is read.
struct LocalSnapshotOptions {
  // Each source before it is read.
  std::function<void(std::string_view source)> begins = [](auto) {};
  // What a source was given, before it parses that.
  std::function<void(const SourceInfo& info, const Snapshot& snapshot)> seen{};
  // The kernel log, at its beginning; to be left there. `site`: the messages that it is read with,
  // or null.
  std::function<void(int fd, const kernel_log::Catalogue* site)> kernel_log{};
  // Tried before a reader of one's own is started; empty: none.
  std::string reader_socket{};
  // The output of programs that only the daemon runs, by path.
  std::map<std::string, std::string> texts{};
  // Sources that are read in part, as jetmemd reads them: the whole hangs.
  std::vector<std::string_view> in_part{};
  // Settings files that name the site's own messages.
  std::vector<std::string> config{};
};

class LocalSnapshot {
 public:
  // Reads the named sources, or all when `only` is empty. Errors: a root that cannot be opened, a
  // name that no source has.
  static Result<std::unique_ptr<LocalSnapshot>> read(const std::string& root_directory,
                                                     const std::vector<std::string>& only,
                                                     LocalSnapshotOptions options = {});

  const SampleTable& table() const { return table_; }
  // Of the selected sources alone.
  const Sampler& sampler() const { return *sampler_; }
  Nanoseconds now() const { return clock_.boot(); }
  const Facts& facts() const { return root_.facts(); }
  // Events of the kernel log, newest first, at most kMaxEvents.
  static constexpr std::size_t kMaxEvents = 256;
  std::vector<EventRecord> events() const { return {events_.rbegin(), events_.rend()}; }

 private:
  LocalSnapshot(Root root, std::string root_directory, LocalSnapshotOptions options);
  Result<void> choose(const std::vector<std::string>& only);
  void read_all();
  void collect(std::size_t i);
  // False: the daemon has no such text.
  bool take_text(std::size_t i);
  void seen(std::size_t i, const Snapshot& snapshot) const;
  // Takes the whole kernel log as it is now.
  void read_kernel_log(std::size_t i, UniqueFd fd);

  Root root_;
  std::string root_directory_;
  LocalSnapshotOptions options_;
  SystemClock clock_;
  SampleTable table_;
  std::unique_ptr<Sampler> sampler_;
  KernelLogSource* kernel_log_source_ = nullptr;  // the sampler's
  std::unique_ptr<const SiteMessages> messages_;
  std::unique_ptr<kernel_log::KernelLog> kernel_log_;
  std::deque<EventRecord> events_;
};

}  // namespace jetmem
