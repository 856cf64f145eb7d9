// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/journal_feed.h"

#include <utility>

#include "base/text/text.h"

namespace jetmem {

JournalFeed::JournalFeed(const Clock& clock, Spawner& spawner, kernel_log::KernelLog& kernel_log,
                         Log& log, std::function<void()> on_lines, std::function<void()> on_change)
    : kernel_log_(kernel_log), log_(log), on_change_(std::move(on_change)) {
  journal::ClientOptions options;
  options.program = journal::find_journal_program();
  journal::Callbacks callbacks;
  callbacks.line = [this](const kernel_log::LogLine& line) { kernel_log_.line(line); };
  callbacks.lines_done = std::move(on_lines);
  callbacks.state = [this](const journal::State& state) { on_state(state); };
  callbacks.lost = [this](const journal::Lost& lost) {
    kernel_log_.journal_loss();
    log_.warning("lines of the journal were passed over: " + printable(lost.why) +
                     (lost.count ? " (" + std::to_string(*lost.count) + " lines)" : ""),
                 {{"JETMEM_SOURCE", "kernel_log"}});
  };
  client_ =
      std::make_unique<journal::Client>(std::move(options), clock, spawner, std::move(callbacks));
}

void JournalFeed::set_site_messages(const kernel_log::Catalogue* site) {
  std::vector<std::string> needles;
  if (site != nullptr) {
    for (const kernel_log::Message& message : site->messages()) {
      if (!message.program) continue;
      for (const kernel_log::Form& form : message.forms) needles.emplace_back(form.anchor());
    }
  }
  client_->set_needles(std::move(needles));
}

void JournalFeed::on_state(const journal::State& state) {
  const bool news = state.blind != logged_blind_ && (!state.blind.empty() || state.received);
  if (news) {
    logged_blind_ = state.blind;
    if (state.blind.empty()) {
      log_.info("the journal is followed", {{"JETMEM_SOURCE", "kernel_log"}});
    } else {
      log_.warning("the journal cannot be followed: " + printable(state.blind),
                   {{"JETMEM_SOURCE", "kernel_log"}});
    }
  }
  on_change_();
}

}  // namespace jetmem
