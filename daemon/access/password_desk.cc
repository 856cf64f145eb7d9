#include "daemon/access/password_desk.h"

#include <crypt.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/clock.h"

namespace jetmem {
namespace {

constexpr int kNice = 5;

// Those of a crash stay: blocked, they would kill without a handler.
sigset_t signals_to_block() {
  sigset_t set;
  sigfillset(&set);
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    sigdelset(&set, crash);
  return set;
}

// Of this thread. On a busy machine the wall would show how long others took.
Nanoseconds cpu_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + Nanoseconds(used.tv_nsec);
}

// Wherever a compiler sees that nobody reads it any more.
void wipe(std::string& text) { gnutls_memset(text.data(), 0, text.size()); }

}  // namespace

bool password_is_right(const PasswordDesk::Users& users, const Credentials& credentials) {
  if (users.empty()) return false;
  const WebConfig::User* user = nullptr;
  for (const WebConfig::User& each : users) {
    if (each.name == credentials.user) user = &each;
  }
  // Somebody's hash, always the same for one name: so that time does not tell who there is.
  const bool is_known = user != nullptr;
  if (!is_known) {
    user = &users[std::hash<std::string_view>()(credentials.user) % users.size()];
  }
  const auto data = std::make_unique<crypt_data>();
  const char* const made = ::crypt_r(credentials.password.c_str(), user->hash.c_str(), data.get());
  const std::string_view hash = made == nullptr ? std::string_view() : made;
  const bool same = hash.size() == user->hash.size() &&
                    gnutls_memcmp(hash.data(), user->hash.data(), hash.size()) == 0;
  gnutls_memset(data.get(), 0, sizeof *data);
  return same && is_known;
}

PasswordDesk::PasswordDesk() : shared_(std::make_shared<Shared>()) {
  has_key_ = gnutls_rnd(GNUTLS_RND_KEY, key_.data(), key_.size()) == GNUTLS_E_SUCCESS;
  shared_->news.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void PasswordDesk::news_seen() {
  std::uint64_t count = 0;
  if (shared_->news.valid()) (void)!::read(shared_->news.get(), &count, sizeof count);
}

PasswordDesk::Figures PasswordDesk::figures() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->figures;
}

std::optional<PasswordDesk::Digest> PasswordDesk::digest_of(const Credentials& credentials) const {
  if (!has_key_) return std::nullopt;
  std::string text = credentials.user;
  text.append(1, '\0').append(credentials.password);
  Digest out{};
  const int result = gnutls_hmac_fast(GNUTLS_MAC_SHA256, key_.data(), key_.size(), text.data(),
                                      text.size(), out.data());
  wipe(text);
  if (result != GNUTLS_E_SUCCESS) return std::nullopt;
  return out;
}

void PasswordDesk::set_users(const Users& users) {
  const std::lock_guard lock(shared_->mutex);
  const auto is_same = [](const WebConfig::User& a, const WebConfig::User& b) {
    return a.name == b.name && a.hash == b.hash;
  };
  if (std::equal(users.begin(), users.end(), shared_->users->begin(), shared_->users->end(),
                 is_same)) {
    return;
  }
  shared_->users = std::make_shared<const Users>(users);
  shared_->found.clear();
}

std::optional<bool> PasswordDesk::known(const Credentials& credentials) const {
  const auto digest = digest_of(credentials);
  if (!digest) return std::nullopt;
  const std::lock_guard lock(shared_->mutex);
  const auto found = shared_->found.find(*digest);
  if (found == shared_->found.end()) return std::nullopt;
  return found->second.right;
}

PasswordDesk::State PasswordDesk::check(const Credentials& credentials, const ClientKey& client) {
  const auto made = digest_of(credentials);
  if (!made) return State::kNoThread;
  const Digest& digest = *made;
  const std::lock_guard lock(shared_->mutex);
  if (const auto found = shared_->found.find(digest); found != shared_->found.end()) {
    return found->second.right ? State::kRight : State::kWrong;
  }
  std::deque<Job>& queue = shared_->queue;
  const auto is_same = [&](const Job& job) { return job.digest == digest; };
  if (shared_->checking == digest || std::any_of(queue.begin(), queue.end(), is_same)) {
    return State::kAsked;
  }
  const auto of = [&](const ClientKey& key) {
    return std::count_if(queue.begin(), queue.end(),
                         [&](const Job& job) { return job.client == key; });
  };
  if (static_cast<std::size_t>(of(client)) >= kMostOfClient) return State::kClientFull;
  if (queue.size() >= kMostWaiting) {
    if (of(client) > 0) return State::kFull;
    // Whoever has none waiting gets the last place of the one who has most.
    auto goes = queue.begin();
    for (auto job = queue.begin(); job != queue.end(); ++job) {
      if (of(job->client) >= of(goes->client)) goes = job;
    }
    if (of(goes->client) < 2) return State::kFull;
    queue.erase(goes);
  }
  if (!start()) return State::kNoThread;
  queue.push_back({digest, credentials, client});
  shared_->changed.notify_all();
  return State::kAsked;
}

// At the first password: most daemons are never told one.
bool PasswordDesk::start() {
  if (thread_.joinable()) return true;
  const sigset_t block = signals_to_block();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &block, &before);
  try {
    thread_ = std::thread([shared = shared_] { run(shared); });
    pthread_setname_np(thread_.native_handle(), "jetmem-password");
  } catch (const std::system_error&) {
    // No more threads to be had: it is tried again with the next password.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread_.joinable();
}

void PasswordDesk::run(const std::shared_ptr<Shared>& shared) {
  // On Linux that of this thread alone.
  ::setpriority(PRIO_PROCESS, 0, kNice);
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->changed.wait(lock, [&] { return !shared->queue.empty() || shared->stopping; });
    if (shared->stopping) break;
    Job job = std::move(shared->queue.front());
    shared->queue.pop_front();
    shared->checking = job.digest;
    const std::shared_ptr<const Users> users = shared->users;
    lock.unlock();
    const Nanoseconds begin = cpu_time();
    const bool right = password_is_right(*users, job.credentials);
    const Nanoseconds took = cpu_time() - begin;
    wipe(job.credentials.password);
    lock.lock();
    shared->checking.reset();
    shared->figures.seconds += to_seconds(took);
    ++(right ? shared->figures.right : shared->figures.wrong);
    // Of users that are no longer: whoever asked asks again.
    if (shared->users == users) shared->remember(job.digest, right);
    const std::uint64_t one = 1;
    if (shared->news.valid()) (void)!::write(shared->news.get(), &one, sizeof one);
    if (right) continue;
    shared->changed.wait_for(lock, took * kRestAfterWrong, [&] { return shared->stopping; });
  }
  shared->finished = true;
  shared->changed.notify_all();
}

// Right ones are not forgotten for wrong ones, however many come.
void PasswordDesk::Shared::remember(const Digest& digest, bool right) {
  if (found.size() >= kMostRemembered) {
    const auto goes =
        std::min_element(found.begin(), found.end(), [](const auto& a, const auto& b) {
          return std::pair(a.second.right, a.second.number) <
                 std::pair(b.second.right, b.second.number);
        });
    found.erase(goes);
  }
  found[digest] = {right, ++numbers};
}

bool PasswordDesk::stop(std::chrono::milliseconds patience) {
  if (!thread_.joinable()) return true;
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->queue.clear();
  shared_->changed.notify_all();
  const bool done = shared_->changed.wait_for(lock, patience, [&] { return shared_->finished; });
  lock.unlock();
  if (done) {
    thread_.join();
  } else {
    thread_.detach();
  }
  return done;
}

}  // namespace jetmem
