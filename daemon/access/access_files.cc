#include "daemon/access/access_files.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "config/tls_material.h"

namespace jetmem {
namespace {

constexpr std::int64_t kDay = 86'400;
constexpr std::int64_t kSoon = 14 * kDay;

// Those of a crash stay: blocked, they would kill without a handler.
sigset_t signals_to_block() {
  sigset_t set;
  sigfillset(&set);
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    sigdelset(&set, crash);
  return set;
}

std::int64_t now() { return ::time(nullptr); }

bool is_valid_now(const AccessRules& rules) {
  return rules.certificate_from <= now() && now() < rules.certificate_until;
}

std::int64_t nanoseconds(const timespec& t) {
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

std::string summary(const AccessRules& rules) {
  std::string out;
  if (rules.tls) {
    out = "TLS with the certificate of " + rules.subject + ", valid until " +
          certificate_time(rules.certificate_until);
  } else {
    out = "no TLS";
  }
  if (rules.users.empty()) return out + ", no password";
  return out + ", " + std::to_string(rules.users.size()) +
         (rules.users.size() == 1 ? " user" : " users") + " with passwords";
}

// What kept others out before and would not any more; empty: nothing.
std::string protection_lost(const AccessRules& before, const AccessRules& after) {
  std::string lost;
  const auto add = [&](bool is_lost, const char* what) {
    if (is_lost) lost += (lost.empty() ? "" : ", ") + std::string(what);
  };
  add(before.tls && !after.tls, "TLS");
  add(!before.users.empty() && after.users.empty(), "passwords");
  add(before.asks_for_certificate && !after.asks_for_certificate, "certificates of clients");
  add(before.asks_for_name && !after.asks_for_name, "names in certificates of clients");
  return lost;
}

}  // namespace

AccessFiles::AccessFiles(std::string file, WebLog log)
    : AccessFiles(std::move(file), std::move(log), Pace{}) {}

AccessFiles::AccessFiles(std::string file, WebLog log, Pace pace)
    : shared_(std::make_shared<Shared>()) {
  shared_->file = std::move(file);
  shared_->log = std::move(log);
  shared_->pace = pace;
  shared_->news.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void AccessFiles::news_seen() {
  std::uint64_t count = 0;
  if (shared_->news.valid()) (void)!::read(shared_->news.get(), &count, sizeof count);
}

AccessFiles::State AccessFiles::state() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->state;
}

bool AccessFiles::start() {
  shared_->load(true);
  // Nobody would see what changes.
  if (!shared_->news.valid()) return false;
  const sigset_t block = signals_to_block();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &block, &before);
  try {
    thread_ = std::thread([shared = shared_] { run(shared); });
    pthread_setname_np(thread_.native_handle(), "jetmem-access");
  } catch (const std::system_error&) {
    // Said by whoever asked for it.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread_.joinable();
}

void AccessFiles::reload() {
  const std::lock_guard lock(shared_->mutex);
  shared_->reload = true;
  shared_->changed.notify_all();
}

void AccessFiles::run(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  std::vector<Stamp> before;  // of a change that has not settled yet; empty: none
  while (!shared->stopping) {
    shared->changed.wait_for(lock, before.empty() ? shared->pace.look : shared->pace.settle,
                             [&] { return shared->stopping || shared->reload; });
    if (shared->stopping) break;
    const bool asked = std::exchange(shared->reload, false);
    lock.unlock();
    std::vector<Stamp> stamps = shared->look();
    if (asked || (stamps == before && !before.empty())) {
      before.clear();
      shared->load(asked);
    } else if (stamps != shared->stamps) {
      before = std::move(stamps);
    } else {
      before.clear();
      // What is wrong may be mended where no stamp shows it: the rights of a directory.
      if (!shared->good) shared->load(false);
    }
    shared->look_at_expiry();
    lock.lock();
  }
  shared->finished = true;
  shared->changed.notify_all();
}

bool AccessFiles::stop(std::chrono::milliseconds patience) {
  if (!thread_.joinable()) return true;
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  const bool done = shared_->changed.wait_for(lock, patience, [&] { return shared_->finished; });
  lock.unlock();
  if (done) {
    thread_.join();
  } else {
    shared_->left_behind = true;
    thread_.detach();
  }
  return done;
}

// ---- what loads

void AccessFiles::Shared::say(LogLevel level, std::string message) const {
  // Whoever left this thread behind may be gone, and the log too.
  if (log && !left_behind) log(level, "http: " + std::move(message));
}

AccessFiles::Stamp AccessFiles::Shared::stamp_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, status.st_size, nanoseconds(status.st_mtim),
          nanoseconds(status.st_ctim)};
}

std::vector<AccessFiles::Stamp> AccessFiles::Shared::look() const {
  std::vector<Stamp> out;
  for (const std::string& path : paths) out.push_back(stamp_of(path));
  return out;
}

// Before it is read: what changes meanwhile is seen the next time.
void AccessFiles::Shared::will_read(const std::string& path) {
  paths.push_back(path);
  stamps.push_back(stamp_of(path));
}

Loaded<std::shared_ptr<const AccessRules>> AccessFiles::Shared::read(
    std::vector<ConfigError>& remarks) {
  paths.clear();
  stamps.clear();
  will_read(file);
  auto config = load_web_config(file);
  if (!config) return tl::unexpected(std::move(config.error()));
  for (const WebConfig::Pem* pem :
       {&config->tls.certificate, &config->tls.key, &config->tls.client_ca}) {
    if (!pem->file.empty()) will_read(pem->file);
  }
  remarks = remarks_on_rights(*config);
  auto rules = std::make_shared<AccessRules>();
  rules->asks_for_certificate =
      config->has_tls && config->tls.client_auth == WebConfig::ClientAuth::kRequireAndVerify;
  rules->asks_for_name = rules->asks_for_certificate && !config->tls.client_allowed_sans.empty();
  rules->users = std::move(config->users);
  rules->headers = std::make_shared<const ExtraHeaders>(std::move(config->headers));
  if (config->has_tls) {
    auto material = load_tls_material(*config);
    if (!material) return tl::unexpected(std::move(material.error()));
    auto server = TlsServer::make(config->tls, *material);
    if (!server) {
      return tl::unexpected(std::vector<ConfigError>{
          {.file = file, .key = {}, .message = std::move(server.error().message)}});
    }
    rules->tls = std::move(*server);
    rules->certificate_from = material->valid_from;
    rules->certificate_until = material->valid_until;
    rules->subject = material->subject;
    remarks.insert(remarks.end(), material->remarks.begin(), material->remarks.end());
    if (std::string trouble = validity_trouble(*material, now()); !trouble.empty()) {
      const WebConfig::Pem& pem = config->tls.certificate;
      remarks.push_back({.file = pem.file.empty() ? file : pem.file,
                         .key = {},
                         .message = "the certificate " + trouble});
    }
  }
  return rules;
}

void AccessFiles::Shared::load(bool asked) {
  std::vector<ConfigError> remarks;
  auto rules = read(remarks);
  std::shared_ptr<const AccessRules> old;
  {
    const std::lock_guard lock(mutex);
    old = state.rules;
  }
  if (rules && (*rules)->tls && old && old->tls && !is_valid_now(**rules) && is_valid_now(*old)) {
    rules = tl::unexpected(remarks);
  }
  if (rules && old) {
    // A file that is half written, or cut, has no mistakes either.
    if (const std::string lost = protection_lost(*old, **rules); !lost.empty()) {
      ConfigError less{.file = file,
                       .key = {},
                       .message = "no longer asks for what it asked for before (" + lost + ")"};
      if (asked) {
        less.message += "; taken, for a reload was asked for";
        remarks.push_back(std::move(less));
      } else {
        less.message += "; if that is meant, reload jetmemd";
        rules = tl::unexpected(std::vector<ConfigError>{std::move(less)});
      }
    }
  }
  if (!rules) return refuse(rules.error(), asked);
  std::string text;
  for (const ConfigError& remark : remarks) text += describe(remark) + "\n";
  if (asked || !good || text != told) {
    for (const ConfigError& remark : remarks) say(LogLevel::kWarning, describe(remark));
  }
  told = std::move(text);
  say(LogLevel::kInfo, "web configuration " + printable(file, 4096) + ": " + summary(**rules));
  take(std::move(*rules));
}

void AccessFiles::Shared::take(std::shared_ptr<const AccessRules> rules) {
  good = true;
  const std::lock_guard lock(mutex);
  state.rules = std::move(rules);
  state.good = true;
  ++state.loads_ok;
  const std::uint64_t one = 1;
  if (news.valid()) (void)!::write(news.get(), &one, sizeof one);
}

void AccessFiles::Shared::refuse(const std::vector<ConfigError>& errors, bool asked) {
  std::string text = describe(errors);
  bool has_rules = false;
  {
    const std::lock_guard lock(mutex);
    state.good = false;
    ++state.loads_failed;
    has_rules = state.rules != nullptr;
    const std::uint64_t one = 1;
    if (news.valid()) (void)!::write(news.get(), &one, sizeof one);
  }
  const bool is_news = asked || good || text != told;
  good = false;
  if (is_news) {
    for (const ConfigError& error : errors) say(LogLevel::kError, describe(error));
    say(LogLevel::kError,
        has_rules ? std::string("the web configuration is refused; the one in force is kept, and "
                                "the files are tried again every 10s")
                  : std::string("without a web configuration that can be used no TCP port is "
                                "opened; it is tried again every 10s and at a reload"));
  }
  told = std::move(text);
}

// Once a day, from two weeks before.
void AccessFiles::Shared::look_at_expiry() {
  std::shared_ptr<const AccessRules> rules;
  {
    const std::lock_guard lock(mutex);
    rules = state.rules;
  }
  const std::int64_t time = now();
  if (!rules || !rules->tls || time < rules->certificate_until - kSoon) return;
  if (time >= expiry_told && time - expiry_told < kDay) return;
  expiry_told = time;
  const bool is_over = time >= rules->certificate_until;
  say(is_over ? LogLevel::kError : LogLevel::kWarning,
      "the certificate of " + rules->subject + (is_over ? " has expired on " : " expires on ") +
          certificate_time(rules->certificate_until) + "; put a new one in its place");
}

}  // namespace jetmem
