// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/password_verifier.h"

#include <crypt.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "base/clock.h"

namespace jetmem {
namespace {

constexpr int kNice = 5;

// Of the calling thread: on a busy machine elapsed time includes that of others.
Nanoseconds thread_cpu_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + Nanoseconds(used.tv_nsec);
}

// Not optimized away, although nothing reads the text afterwards.
void wipe(std::string& text) { gnutls_memset(text.data(), 0, text.size()); }

}  // namespace

bool password_matches(const PasswordVerifier::Users& users, const Credentials& credentials) {
  if (users.empty()) return false;
  const WebConfig::User* user = nullptr;
  for (const WebConfig::User& each : users) {
    if (each.name == credentials.user) user = &each;
  }
  // An unknown name is checked against some user's hash, always the same one, so that the time
  // taken does not reveal which users exist.
  const bool is_known = user != nullptr;
  if (!is_known) user = &users[std::hash<std::string_view>()(credentials.user) % users.size()];
  const auto data = std::make_unique<crypt_data>();
  const char* const made = ::crypt_r(credentials.password.c_str(), user->hash.c_str(), data.get());
  const std::string_view hash = made == nullptr ? std::string_view() : made;
  const bool same = hash.size() == user->hash.size() &&
                    gnutls_memcmp(hash.data(), user->hash.data(), hash.size()) == 0;
  gnutls_memset(data.get(), 0, sizeof *data);
  return same && is_known;
}

PasswordVerifier::PasswordVerifier() : shared_(std::make_shared<Shared>()) {
  has_key_ = gnutls_rnd(GNUTLS_RND_KEY, key_.data(), key_.size()) == GNUTLS_E_SUCCESS;
}

PasswordVerifier::VerifierStats PasswordVerifier::stats() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->stats;
}

std::optional<PasswordVerifier::Digest> PasswordVerifier::digest_of(
    const Credentials& credentials) const {
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

void PasswordVerifier::set_users(const Users& users) {
  const std::lock_guard lock(shared_->mutex);
  if (users == *shared_->users) return;
  shared_->users = std::make_shared<const Users>(users);
  shared_->found.clear();
}

PasswordVerifier::State PasswordVerifier::check(const Credentials& credentials,
                                                const ClientKey& client) {
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
    return State::kRequested;
  }
  const auto own = std::count_if(queue.begin(), queue.end(),
                                 [&](const Job& job) { return job.client == client; });
  if (static_cast<std::size_t>(own) >= kMostOfClient || queue.size() >= kMostWaiting) {
    return State::kFull;
  }
  if (!start()) return State::kNoThread;
  queue.push_back({digest, credentials, client});
  shared_->changed.notify_all();
  return State::kRequested;
}

// Started by the first password: most daemons never receive one.
bool PasswordVerifier::start() {
  if (thread_.is_running()) return true;
  return thread_.start("jetmem-password", shared_, run);
}

void PasswordVerifier::run(Shared& shared) {
  // On Linux of this thread alone.
  ::setpriority(PRIO_PROCESS, 0, kNice);
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.changed.wait(lock, [&] { return !shared.queue.empty() || shared.stopping; });
    if (shared.stopping) break;
    Job job = std::move(shared.queue.front());
    shared.queue.pop_front();
    shared.checking = job.digest;
    const std::shared_ptr<const Users> users = shared.users;
    lock.unlock();
    const Nanoseconds begin = thread_cpu_time();
    const bool right = password_matches(*users, job.credentials);
    const Nanoseconds elapsed = thread_cpu_time() - begin;
    wipe(job.credentials.password);
    lock.lock();
    shared.checking.reset();
    shared.stats.seconds += to_seconds(elapsed);
    ++(right ? shared.stats.right : shared.stats.wrong);
    // Checked against users that were replaced meanwhile: the client asks again.
    if (shared.users == users) shared.remember(job.digest, right);
    shared.changes.signal();
    if (right) continue;
    shared.changed.wait_for(lock, elapsed * kRestAfterWrong, [&] { return shared.stopping; });
  }
}

// Wrong passwords, however many, do not displace right ones.
void PasswordVerifier::Shared::remember(const Digest& digest, bool right) {
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

bool PasswordVerifier::stop(std::chrono::milliseconds timeout) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->queue.clear();
  }
  return thread_.stop(timeout);
}

}  // namespace jetmem
