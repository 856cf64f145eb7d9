// SPDX-License-Identifier: Apache-2.0
#include "daemon/parts/kernel_log_follower.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"

namespace jetmem {
namespace {

// /dev/kmsg is asked for again sooner at first, in case it was only its reader that failed.
constexpr Nanoseconds kFirstRetryPause = std::chrono::milliseconds(500);
constexpr Nanoseconds kLongestRetryPause = std::chrono::minutes(1);
// Else a broken file could drown the rest of the log.
constexpr std::size_t kMaxErrorsShown = 20;

constexpr std::array kMessageMetrics{
    gauge("jetmem_messages", "Messages of the site's own that the kernel log is searched for."),
    gauge("jetmem_message_config_errors",
          "Errors in the site's own messages when they were last read; the journal of jetmemd and "
          "jetmem messages check list them. Messages without errors are in force."),
};

}  // namespace

KernelLogFollower::KernelLogFollower(DaemonContext& context, const Settings& settings,
                                     Sampling& sampling, HistoryFeed* history,
                                     std::function<void()> on_new_events)
    : context_(context), sampling_(sampling), on_new_events_(std::move(on_new_events)) {
  const bool is_live = context.is_live();
  KernelLogFeedOptions options;
  if (history != nullptr) {
    options.on_event = [history](const kernel_log::Event& event,
                                 const kernel_log::Occurrence& occurrence) {
      history->kernel_event(event, occurrence);
    };
  }
  const std::string_view soc = soc_choice_name(settings.kernel_log.soc);
  const kernel_log::SocFound found = kernel_log::find_soc(context.root);
  options.soc = kernel_log::soc_named(soc).value_or(found.soc);
  options.accept_user_records = settings.kernel_log.accept_user_records;
  options.accept_packets = !settings.reader.program.empty() && settings.reader.socket.empty();
  const ProcessLines lines = settings.kernel_log.library_errors;
  options.library_errors = is_live && (lines == ProcessLines::kAlways ||
                                       (lines == ProcessLines::kAuto && found.is_tegra));
  if (!found.problem.empty()) {
    context.log.warning(
        "unknown SoC: " + found.problem +
        "; SMMU faults may lack their client's name, and what NVIDIA's libraries print is not "
        "followed unless kernel_log.library_errors says so; a restart looks again");
  }
  options.on_attached = [this](Result<void> opened) {
    const SourceState before = sampling_.sampler->status(sampling_.kernel_log_index).state;
    settle(std::move(opened));
    // What changes a second later anyway is no reason for a page of its own.
    if (sampling_.sampler->status(sampling_.kernel_log_index).state != before) on_new_events_();
  };
  // Systemd keeps it over a restart and empties it at boot: memory, not flash.
  if (is_live) options.runtime_directory = context.runtime_directory;
  feed_ = std::make_unique<KernelLogFeed>(std::move(options), context.root, context.clock,
                                          context.spawner, context.log,
                                          [this] {
                                            if (!feed_->following()) return;
                                            show();
                                            on_new_events_();
                                          });
  sampling.health_options.probes = &feed_->tally();
}

void KernelLogFollower::apply(const Settings& settings) {
  feed_->set_accept_user_records(settings.kernel_log.accept_user_records);
  load_messages(settings.messages.directory);
  const SourceSettings* source = settings.find_source(KernelLogSource::kInfo.name);
  if (source != nullptr && !source->enabled) feed_->stop();
}

void KernelLogFollower::load_messages(const std::string& directory) {
  std::shared_ptr<const SiteMessages> messages = SiteMessages::load(directory);
  const std::vector<ConfigError>& errors = messages->errors();
  for (std::size_t i = 0; i < std::min(errors.size(), kMaxErrorsShown); ++i) {
    context_.log.error("messages: " + describe(errors[i]), {{"JETMEM_CONFIG_FILE", errors[i].file}});
  }
  if (errors.size() > kMaxErrorsShown) {
    context_.log.error("messages: and " + std::to_string(errors.size() - kMaxErrorsShown) +
                       " more errors: jetmem messages check lists them all");
  }
  if (!errors.empty()) {
    context_.log.error("the messages of " + printable(directory) + " have errors; those without are in force: " +
                       std::to_string(messages->size()));
  }
  site_messages_ = messages->size();
  message_errors_ = errors.size();
  feed_->set_site_messages(std::move(messages));
  if (feed_->following()) show();  // the series of those that are new, and no longer of others
}

std::span<const Descriptor> KernelLogFollower::metrics() { return kMessageMetrics; }

void KernelLogFollower::write(SampleWriter& out) const {
  out.put(kMessageMetrics[0], site_messages_);
  out.put(kMessageMetrics[1], message_errors_);
}

void KernelLogFollower::read(reader::Client& reader) {
  if (!sampling_.sampler->admit(sampling_.kernel_log_index)) return;
  feed_->cycle();
  if (feed_->following()) show();
  if (auto error = feed_->hang()) return settle(tl::unexpected(std::move(*error)));
  if (feed_->is_attaching()) return;
  const Nanoseconds now = context_.clock.boot();
  if (context_.is_live()) {
    if (now - last_try_ >= kLongestRetryPause) pause_ = kFirstRetryPause;
    if (feed_->attached() || now - last_try_ < pause_) return;
    pause_ = std::min(pause_ * 2, kLongestRetryPause);
    last_try_ = now;
  }
  // A captured file may have grown, or another may stand in its place: it is asked for each time.
  reader.request(KernelLogSource::kInfo.name);
}

void KernelLogFollower::on_answer(Result<const Snapshot*> snapshot, reader::Client& reader) {
  // Switched off while the answer was on its way.
  if (is_disabled()) return;
  Result<void> opened;
  if (!snapshot) {
    opened = tl::unexpected(std::move(snapshot.error()));
  } else if ((*snapshot)->size() == 0) {
    opened = fail(Errc::kUnavailable, "jetmem-reader named no file");
  } else if (const FileText file = (**snapshot)[0]; !file.ok()) {
    opened = tl::unexpected(file.as_error());
  } else {
    opened = feed_->attach(reader.take_descriptor());
    if (opened) return;  // whether it can be read is known in a moment
  }
  settle(std::move(opened));
}

bool KernelLogFollower::is_disabled() const {
  return sampling_.sampler->status(sampling_.kernel_log_index).state == SourceState::kDisabled;
}

void KernelLogFollower::settle(Result<void> opened) {
  if (is_disabled()) return;
  if (!opened) feed_->fall_back(opened.error());
  if (feed_->following()) return show();
  Error error{Errc::kIo, "the kernel log can no longer be read"};
  if (!opened) error = std::move(opened.error());
  const std::string& journal = feed_->journal_error();
  if (!journal.empty()) error.message += "; nor can the journal be read: " + printable(journal);
  sampling_.sampler->reject(sampling_.kernel_log_index, std::move(error));
}

void KernelLogFollower::show() {
  sampling_.kernel_log->set_reading(feed_->reading());
  sampling_.sampler->accept(sampling_.kernel_log_index, Snapshot(), Nanoseconds(0));
}

}  // namespace jetmem
