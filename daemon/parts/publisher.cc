// SPDX-License-Identifier: Apache-2.0
#include "daemon/parts/publisher.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/process/descriptor_limit.h"
#include "base/root/small_file.h"
#include "base/root/snapshot.h"
#include "base/text/text.h"

namespace jetmem {
namespace {

// Of one address: its listening socket, libmicrohttpd's epoll, and connections that it may have on
// top of http.max_connections.
constexpr std::uint64_t kDescriptorsOfAddress = kSpareConnections + 2;
// However few descriptors there are: a scraper and a person.
constexpr unsigned kFewestConnections = 4;
// Half of the least time after which the loop counts as stuck, less what a cycle may be late.
constexpr Nanoseconds kPageInterval = std::chrono::milliseconds(4'900);

// So that `jetmem alerts` finds the daemon also where no port is open. Read-only. Where a port is
// open to everybody any local user may read the same there: hence open to all then, else to the
// daemon's group.
void add_api_socket(WebOptions& options, const std::string& directory) {
  const auto is_unix = [](const ListenAddress& address) {
    return address.family == ListenAddress::Family::kUnix;
  };
  if (directory.empty() || std::any_of(options.listen.begin(), options.listen.end(), is_unix))
    return;
  auto address = parse_listen_address("unix:" + directory + "/api.socket");
  if (!address) return;
  if (!options.listen.empty() && options.web_config.empty()) options.open_socket = address->host;
  options.listen.push_back(std::move(*address));
}

// Empty where the tree has none.
Result<std::string> host_name(const Root& root) {
  constexpr std::string_view kPath = "/proc/sys/kernel/hostname";
  int error = 0;
  const UniqueFd file = root.open_file(kPath, error);
  if (!file.valid() && error == ENOENT) return std::string();
  if (!file.valid()) return tl::unexpected(FileText{kPath, {}, error}.as_error());
  const auto text = read_open_file(file.get(), kPath, 256);
  if (!text) return tl::unexpected(text.error());
  return std::string(trim(*text));
}

}  // namespace

Publisher::Publisher(DaemonContext& context, Sampling& sampling)
    : context_(context), sampling_(sampling), program_texts_(*sampling.sampler) {}

void Publisher::publish_alerts(const RuleEvaluator& evaluator) {
  const RuleEngine* engine = evaluator.engine();
  if (engine == nullptr) return;
  if (!alerts_texts_ || alerts_texts_read_ != evaluator.times_read()) {
    alerts_texts_ = std::make_shared<const AlertsTexts>(
        AlertsTexts{engine->rules(), evaluator.config_errors(), engine->interval(),
                    evaluator.settings().runbook_directory()});
    alerts_texts_read_ = evaluator.times_read();
  }
  alerts_.publish(std::make_shared<const AlertsNow>(
      take_alerts(*engine, alerts_texts_, context_.clock.wall() - context_.clock.boot())));
}

bool Publisher::is_page_due() const {
  return newest_->taken < Nanoseconds(0) ||
         taken_ - newest_->taken >= context_.at_speed(kPageInterval);
}

std::size_t Publisher::publish_page() {
  auto sources = std::make_shared<const PublishedSources>(sources_now(*sampling_.sampler));
  if (*sources != *sources_.newest()) sources_.publish(std::move(sources));
  auto page = std::make_shared<Page>();
  page->layout = newest_->layout;
  fill_page(sampling_.table, taken_, pages_.cycle(), *page);
  newest_ = page;
  pages_.publish(newest_);
  return newest_->layout->hidden();
}

std::string Publisher::own_address() const {
  if (!web_) return {};
  const std::vector<ListenAddress> all = web_->addresses();
  const auto is_unix = [](const ListenAddress& each) {
    return each.family == ListenAddress::Family::kUnix;
  };
  const auto at = std::find_if(all.begin(), all.end(), is_unix);
  if (at != all.end()) return at->text();
  // Over TCP it would have to prove who it is.
  if (all.empty() || is_protected_) return {};
  return all.front().text();
}

// What is left for connections beside what jetmemd needs itself.
unsigned Publisher::allowed_connections(unsigned wanted, std::size_t addresses) {
  const std::uint64_t needed = kOwnDescriptors + addresses * (wanted + kDescriptorsOfAddress);
  const std::uint64_t limit = raise_descriptor_limit(needed);
  if (limit >= needed) return wanted;
  const std::uint64_t left = limit > kOwnDescriptors ? limit - kOwnDescriptors : 0;
  const std::uint64_t each = left / addresses;
  const auto allowed = static_cast<unsigned>(
      std::clamp<std::uint64_t>(each > kDescriptorsOfAddress ? each - kDescriptorsOfAddress : 0,
                                std::min(kFewestConnections, wanted), wanted));
  context_.log.warning("http.max_connections: " + std::to_string(allowed) + " instead of " +
                       std::to_string(wanted) + ": " + descriptor_shortage(limit, needed));
  return allowed;
}

void Publisher::start(const Settings& settings, HistoryFeed* history) {
  WebOptions options;
  static_cast<HttpSettings&>(options) = settings.http;
  is_protected_ = !options.web_config.empty();
  add_api_socket(options, context_.runtime_directory);
  if (options.listen.empty()) return;
  options.max_connections = allowed_connections(options.max_connections, options.listen.size());
  ApiInputs reported;
  reported.sources = &sources_;
  reported.texts = &program_texts_;
  if (history != nullptr) reported.history = &history->history();
  reported.boot_id = context_.root.facts().boot_id.value_or("");
  if (auto name = host_name(context_.root)) {
    reported.host_name = std::move(*name);
  } else {
    context_.log.warning("cannot read the host name, API answers omit it: " + name.error().message);
  }
  web_ = std::make_unique<Web>(std::move(options), context_.clock, context_.log, pages_, alerts_,
                               readiness_, std::move(reported));
  const auto started = web_->start();
  if (!started) {
    context_.log.error("no http: " + started.error().message);
    return;
  }
  for (const Error& error : *started) {
    context_.log.error(error.message + "; tried again every 10s, sampling goes on");
  }
  for (const ListenAddress& address : web_->addresses()) {
    context_.log.info("serving http on " + address.text(), {{"JETMEM_ADDRESS", address.text()}});
  }
}

}  // namespace jetmem
