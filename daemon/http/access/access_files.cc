// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/access_files.h"

#include <sys/stat.h>

#include <ctime>
#include <utility>

#include "base/text/text.h"
#include "config/web/tls_material.h"

namespace jetmem {
namespace {

constexpr std::int64_t kDaySeconds = 86'400;
constexpr std::int64_t kSoon = 14 * kDaySeconds;

std::int64_t now() { return ::time(nullptr); }

bool is_valid_now(const AccessRules& rules) {
  return rules.certificate_from <= now() && now() < rules.certificate_until;
}

// Changes when the file does; that of a missing file is always the same.
std::string stamp_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "none\n";
  std::string out;
  for (const auto number :
       {static_cast<std::int64_t>(status.st_dev), static_cast<std::int64_t>(status.st_ino),
        static_cast<std::int64_t>(status.st_size), static_cast<std::int64_t>(status.st_mtim.tv_sec),
        static_cast<std::int64_t>(status.st_mtim.tv_nsec),
        static_cast<std::int64_t>(status.st_ctim.tv_sec),
        static_cast<std::int64_t>(status.st_ctim.tv_nsec)}) {
    out += std::to_string(number) + " ";
  }
  return out + "\n";
}

std::string summary(const AccessRules& rules) {
  std::string out = rules.tls ? "TLS with the certificate of " + rules.subject + ", valid until " +
                                    certificate_time(rules.certificate_until)
                              : "no TLS";
  const std::size_t users = rules.users.size();
  if (users == 0) return out + ", no password";
  return out + ", " + std::to_string(users) + (users == 1 ? " user" : " users") + " with passwords";
}

// The protections of `before` that `after` lacks; empty: none.
std::string protection_lost(const AccessRules& before, const AccessRules& after) {
  std::string lost;
  const auto add = [&](bool is_lost, const char* what) {
    if (is_lost) lost += (lost.empty() ? "" : ", ") + std::string(what);
  };
  add(before.tls && !after.tls, "TLS");
  add(!before.users.empty() && after.users.empty(), "passwords");
  add(before.requires_certificate && !after.requires_certificate, "client certificates");
  return lost;
}

}  // namespace

AccessFiles::AccessFiles(std::string file, Log& log, AccessPace pace)
    : shared_(std::make_shared<Shared>()) {
  shared_->file = std::move(file);
  shared_->log = &log;
  shared_->pace = pace;
}

AccessFiles::State AccessFiles::state() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->state;
}

bool AccessFiles::start() {
  shared_->load(true);
  return shared_->changes.valid() && thread_.start("jetmem-access", shared_, run);
}

void AccessFiles::reload() {
  const std::lock_guard lock(shared_->mutex);
  shared_->reload = true;
  shared_->changed.notify_all();
}

void AccessFiles::run(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  std::string unsettled;  // stamps of a change; empty: none
  while (!shared.stopping) {
    shared.changed.wait_for(lock, unsettled.empty() ? shared.pace.check : shared.pace.settle,
                            [&] { return shared.stopping || shared.reload; });
    if (shared.stopping) break;
    const bool requested = std::exchange(shared.reload, false);
    lock.unlock();
    std::string stamps;
    for (const std::string& path : shared.paths) stamps += stamp_of(path);
    const bool is_settled = stamps == std::exchange(unsettled, "");
    if (requested || is_settled) {
      shared.load(requested);
    } else if (stamps != shared.stamps) {
      unsettled = std::move(stamps);
    } else if (!shared.state.good) {
      // What was wrong may be repaired where no stamp shows it: a directory's permissions.
      shared.load(false);
    }
    shared.check_expiry();
    lock.lock();
  }
}

bool AccessFiles::stop(std::chrono::milliseconds timeout) {
  const bool ended = thread_.stop(timeout);
  if (!ended) shared_->abandoned = true;
  return ended;
}

// ---- loading

void AccessFiles::Shared::log_message(LogLevel level, const std::string& message) const {
  // The log may be gone when the thread was abandoned.
  if (!abandoned) log->write({level, "http: " + message, {}, false});
}

// Stamped before it is read, so that a change meanwhile is seen the next time.
void AccessFiles::Shared::will_read(const std::string& path) {
  paths.push_back(path);
  stamps += stamp_of(path);
}

Loaded<AccessFiles::Rules> AccessFiles::Shared::read(std::vector<ConfigError>& warnings) {
  paths.clear();
  stamps.clear();
  will_read(file);
  auto config = load_web_config(file);
  if (!config) {
    for (ConfigError& error : config.error()) {
      if (error.line == 0) error.message.insert(0, "http.web_config: ");
    }
    return tl::unexpected(std::move(config.error()));
  }
  const WebConfig::Tls& tls = config->tls;
  for (const WebConfig::Pem* pem : {&tls.certificate, &tls.key, &tls.client_ca}) {
    if (!pem->file.empty()) will_read(pem->file);
  }
  warnings = permission_warnings(*config);
  auto rules = std::make_shared<AccessRules>();
  rules->requires_certificate =
      config->has_tls && tls.client_auth == WebConfig::ClientAuth::kRequireAndVerify;
  rules->users = std::move(config->users);
  rules->headers = std::make_shared<const WebConfig::Headers>(std::move(config->headers));
  if (!config->has_tls) return rules;
  auto material = load_tls_material(*config);
  if (!material) return tl::unexpected(std::move(material.error()));
  auto server = TlsServer::make(tls, *material);
  if (!server) {
    return tl::unexpected(std::vector<ConfigError>{
        {.file = file, .key = {}, .message = std::move(server.error().message)}});
  }
  const Rules& before = state.rules;
  const bool is_same = before && before->tls && before->tls->same_as(**server);
  rules->tls = std::move(*server);
  if (is_same) rules->tls = before->tls;
  rules->certificate_from = material->valid_from;
  rules->certificate_until = material->valid_until;
  rules->subject = material->subject;
  warnings.insert(warnings.end(), material->warnings.begin(), material->warnings.end());
  if (const std::string problem = validity_error(*material, now()); !problem.empty()) {
    warnings.push_back({.file = tls.certificate.file.empty() ? file : tls.certificate.file,
                        .key = {},
                        .message = "the certificate " + problem});
  }
  return rules;
}

// Only this thread changes the state, so that it may read it without the lock.
void AccessFiles::Shared::load(bool requested) {
  std::vector<ConfigError> messages;
  auto rules = read(messages);
  const Rules old = state.rules;
  if (rules && old && (*rules)->tls && old->tls && !is_valid_now(**rules) && is_valid_now(*old)) {
    rules = tl::unexpected(messages);
  }
  // A file that is half written may lack a section and still be valid.
  if (const std::string lost = rules && old ? protection_lost(*old, **rules) : ""; !lost.empty()) {
    messages.push_back({.file = file,
                        .key = {},
                        .message = "no longer requires what it required before (" + lost + "); " +
                                   (requested ? "accepted because of the reload"
                                              : "if that is intended, run systemctl reload "
                                                "jetmemd")});
    if (!requested) rules = tl::unexpected(std::vector{messages.back()});
  }
  if (!rules) messages = rules.error();
  std::string text;
  for (const ConfigError& each : messages) text += describe(each) + "\n";
  const bool is_new = requested || state.good != rules.has_value() || text != reported;
  reported = std::move(text);
  for (const ConfigError& each : messages) {
    if (is_new) log_message(rules ? LogLevel::kWarning : LogLevel::kError, describe(each));
  }
  if (rules) {
    log_message(LogLevel::kInfo,
                "web configuration " + printable(file, 4096) + ": " + summary(**rules));
  } else if (is_new) {
    log_message(LogLevel::kError,
                old ? "the web configuration is refused; the one in force is kept, and the files "
                      "are tried again every 10 s"
                    : "no TCP port is opened without a valid web configuration; it is tried again "
                      "every 10 s and at a reload");
  }
  const std::lock_guard lock(mutex);
  state.good = rules.has_value();
  ++(rules ? state.loads_ok : state.loads_failed);
  if (rules) state.rules = std::move(*rules);
  changes.signal();
}

// Once a day, from two weeks before.
void AccessFiles::Shared::check_expiry() {
  const Rules& rules = state.rules;
  const std::int64_t time = now();
  if (!rules || !rules->tls || time < rules->certificate_until - kSoon) return;
  if (time >= logged_expiry && time - logged_expiry < kDaySeconds) return;
  logged_expiry = time;
  const bool is_over = time >= rules->certificate_until;
  log_message(is_over ? LogLevel::kError : LogLevel::kWarning,
              "the certificate of " + rules->subject +
                  (is_over ? " has expired on " : " expires on ") +
                  certificate_time(rules->certificate_until) + "; replace its file with a new one");
}

}  // namespace jetmem
