// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/password_verifier.h"

#include <crypt.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/text/text.h"
#include "daemon/http/http_text.h"

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

std::optional<Credentials> parse_basic_auth(std::string_view header) {
  const std::string_view scheme = take_word(header);
  const std::string_view encoded = trim(header);
  // The decoder would skip spaces.
  if (!is_same_name(scheme, "basic") || encoded.empty() || encoded.size() > 2 * kMaxCredentials ||
      encoded.find_first_of(" \t") != std::string_view::npos) {
    return std::nullopt;
  }
  const gnutls_datum_t text{reinterpret_cast<unsigned char*>(const_cast<char*>(encoded.data())),
                            static_cast<unsigned>(encoded.size())};
  gnutls_datum_t decoded{};
  if (gnutls_base64_decode2(&text, &decoded) != GNUTLS_E_SUCCESS) return std::nullopt;
  const std::string pair(reinterpret_cast<const char*>(decoded.data), decoded.size);
  gnutls_memset(decoded.data, 0, decoded.size);
  gnutls_free(decoded.data);
  const std::size_t colon = pair.find(':');
  // bcrypt would ignore what follows a NUL.
  if (colon == std::string::npos || pair.size() > kMaxCredentials ||
      pair.find('\0') != std::string::npos) {
    return std::nullopt;
  }
  return Credentials{pair.substr(0, colon), pair.substr(colon + 1)};
}

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

PasswordVerifier::PasswordVerifier()
    : worker_({.thread = "jetmem-password",
               .nice = kNice,
               .most = kMostWaiting,
               .most_of_client = kMostOfClient}) {
  has_key_ = gnutls_rnd(GNUTLS_RND_KEY, key_.data(), key_.size()) == GNUTLS_E_SUCCESS;
}

PasswordVerifier::VerifierStats PasswordVerifier::stats() const {
  const std::lock_guard lock(counted_->mutex);
  return counted_->stats;
}

std::optional<std::string> PasswordVerifier::digest_of(const Credentials& credentials) const {
  if (!has_key_) return std::nullopt;
  std::string text = std::to_string(times_set_) + ' ' + credentials.user;
  text.append(1, '\0').append(credentials.password);
  std::string out(32, '\0');
  const int result = gnutls_hmac_fast(GNUTLS_MAC_SHA256, key_.data(), key_.size(), text.data(),
                                      text.size(), out.data());
  wipe(text);
  if (result != GNUTLS_E_SUCCESS) return std::nullopt;
  return out;
}

void PasswordVerifier::set_users(const Users& users) {
  if (users == *users_) return;
  users_ = std::make_shared<const Users>(users);
  // What is being checked against the users before is not fetched any more.
  ++times_set_;
  found_.clear();
}

PasswordVerifier::State PasswordVerifier::check(const Credentials& credentials,
                                                const ClientKey& client) {
  const auto digest = digest_of(credentials);
  if (!digest) return State::kFull;
  if (const auto found = found_.find(*digest); found != found_.end()) {
    return found->second.right ? State::kRight : State::kWrong;
  }
  const auto verify = [credentials = Credentials(credentials), users = users_,
                       counted = counted_](Nanoseconds& rest) mutable {
    const Nanoseconds begin = thread_cpu_time();
    const bool right = password_matches(*users, credentials);
    const Nanoseconds elapsed = thread_cpu_time() - begin;
    wipe(credentials.password);
    if (!right) rest = elapsed * kRestAfterWrong;
    const std::lock_guard lock(counted->mutex);
    counted->stats.seconds += to_seconds(elapsed);
    ++(right ? counted->stats.right : counted->stats.wrong);
    return std::any(right);
  };
  const auto reply = worker_.ask(*digest, &client, verify, std::chrono::milliseconds(0));
  if (reply.state == QueryWorker::State::kRequested) return State::kRequested;
  const bool* const right = std::any_cast<bool>(&reply.answer);
  if (right == nullptr) return State::kFull;
  remember(*digest, *right);
  return *right ? State::kRight : State::kWrong;
}

// Wrong passwords, however many, do not displace right ones.
void PasswordVerifier::remember(const std::string& digest, bool right) {
  if (found_.size() >= kMostRemembered) {
    found_.erase(std::min_element(found_.begin(), found_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second.right, a.second.number) <
             std::pair(b.second.right, b.second.number);
    }));
  }
  found_[digest] = {right, ++numbers_};
}

}  // namespace jetmem
