// SPDX-License-Identifier: Apache-2.0
// The source kernel_log of the daemon: followed rather than read. Asks jetmem-reader for /dev/kmsg
// while it is not open, and shows the counts.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/root/snapshot.h"
#include "collectors/reader/client.h"
#include "config/settings.h"
#include "daemon/log/kernel_log_feed.h"
#include "daemon/parts/sampling.h"
#include "daemon/state/history_feed.h"

namespace jetmem {

class KernelLogFollower {
 public:
  // `history` may be null. `on_new_events` is called while the log is followed.
  KernelLogFollower(DaemonContext& context, const Settings& settings, Sampling& sampling,
                 HistoryFeed* history, std::function<void()> on_new_events);

  Result<void> start() { return feed_->start(context_.loop); }
  // At a start and at a reload: reads the site's own messages, too. The valid ones are taken.
  void apply(const Settings& settings);
  static std::span<const Descriptor> metrics();
  void write(SampleWriter& out) const;
  // The source is due.
  void read(reader::Client& reader);
  void on_answer(Result<const Snapshot*> snapshot, reader::Client& reader);
  KernelLogFeed& feed() { return *feed_; }

 private:
  void load_messages(const std::string& directory);
  void show();
  bool is_disabled() const;
  // Whether what jetmem-reader sent is followed, or why not: then the journal is.
  void settle(Result<void> opened);

  DaemonContext& context_;
  Sampling& sampling_;
  std::function<void()> on_new_events_;
  std::unique_ptr<KernelLogFeed> feed_;
  // When /dev/kmsg was asked for last, and how long to wait before it is again.
  Nanoseconds last_try_{-3'600'000'000'000};
  Nanoseconds pause_{0};
  std::size_t site_messages_ = 0;
  std::size_t message_errors_ = 0;
};

}  // namespace jetmem
