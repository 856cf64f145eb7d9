// SPDX-License-Identifier: Apache-2.0
// What the loop hands to the web thread after each cycle, and that thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/process/event_loop.h"
#include "base/result.h"
#include "base/root/snapshot.h"
#include "config/settings.h"
#include "daemon/alerts/rule_evaluator.h"
#include "daemon/http/page_buffer.h"
#include "daemon/http/published.h"
#include "daemon/http/published_sources.h"
#include "daemon/http/server/web.h"
#include "daemon/parts/daemon_context.h"
#include "daemon/parts/sampling.h"
#include "daemon/readiness.h"
#include "daemon/state/history_feed.h"
#include "metrics/sample.h"

namespace jetmem {

class Publisher {
 public:
  Publisher(DaemonContext& context, Sampling& sampling);

  // `history` may be null.
  void start(const Settings& settings, HistoryFeed* history);
  Readiness& readiness() { return readiness_; }
  void reload_access() {
    if (web_) web_->reload_access();
  }
  // Where a program that we start finds us; empty: nowhere.
  std::string own_address() const;

  // The last raw text of a source of Access::kProgram, or of the history of boots; of others it is
  // ignored. Null: there is none now.
  void take_program_text(std::string_view source, const Snapshot* snapshot) {
    program_texts_.take(source, snapshot);
  }
  void publish_alerts(const RuleEvaluator& evaluator);
  // The table has values of `now`, and jetmem's own series are not among them yet.
  void begin_page(Nanoseconds now) {
    taken_ = now;
    pages_.next_cycle();
  }
  // Whether to publish a page although nobody asks: when the loop hangs, the one that is there must
  // not be old.
  bool is_page_due() const;
  // Everything that the table has now. Returns how many series have no room on the page.
  std::size_t publish_page();
  // Calls back when somebody asks for a page that begin_page() began: publish_page() answers.
  Result<void> watch_requests(EventLoop& loop, EventLoop::Callback callback) {
    if (!pages_.requests().valid()) {
      context_.log.warning(
          "cannot create an eventfd: pages are up to 5 s old, not of the last cycle");
      return {};
    }
    return page_requests_.start(loop, pages_.requests().get(),
                                [this, callback = std::move(callback)] {
                                  pages_.requests().clear();
                                  callback();
                                });
  }
  bool is_page_current() const { return newest_->cycle == pages_.cycle(); }
  // False: its thread still uses the history.
  bool stop() { return !web_ || web_->stop(); }

 private:
  // Of each of so many addresses.
  unsigned allowed_connections(unsigned wanted, std::size_t addresses);

  DaemonContext& context_;
  Sampling& sampling_;
  PageBuffer pages_;
  Watch page_requests_;
  Nanoseconds taken_{0};
  std::shared_ptr<const Page> newest_ = pages_.newest();
  Published<AlertsNow> alerts_;
  std::shared_ptr<const AlertsTexts> alerts_texts_;
  std::uint64_t alerts_texts_read_ = 0;  // RuleEvaluator::times_read() of them
  Published<PublishedSources> sources_;
  ProgramTexts program_texts_;
  Readiness readiness_;
  bool is_protected_ = false;  // by passwords or certificates
  std::unique_ptr<Web> web_;
};

}  // namespace jetmem
