// SPDX-License-Identifier: Apache-2.0
// Checks passwords against their bcrypt hashes on a QueryWorker, because each check takes a tenth
// of a second or more. Results are remembered by a keyed hash until the users change, so that a
// client costs one check instead of one for each request. The web thread's own.
//
// A flood of wrong passwords takes at most a quarter of one CPU, at low priority: after a wrong one
// the thread rests three times as long as the check took. Each client has few places in the queue,
// so that one client's flood does not lock out another; a remembered password needs no place.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/event_fd.h"
#include "config/web/web_config.h"
#include "daemon/http/client_key.h"
#include "daemon/http/query_worker.h"

namespace jetmem {

struct Credentials {
  std::string user;
  std::string password;
};

// Longer ones are invalid: hash-password makes no hash of them.
inline constexpr std::size_t kMaxCredentials = 512;

// Of the header Authorization: Basic ... of a request. Nothing: it has another form.
std::optional<Credentials> parse_basic_auth(std::string_view header);

class PasswordVerifier {
 public:
  using Users = std::vector<WebConfig::User>;

  static constexpr std::size_t kMostWaiting = 16;
  static constexpr std::size_t kMostOfClient = 4;
  static constexpr std::size_t kMostRemembered = 256;
  static constexpr int kRestAfterWrong = 3;  // times as long as the check took

  enum class State {
    kRight,
    kWrong,
    kRequested,  // it is queued or being checked: ask again after changes()
    kFull,       // too many are queued, or of this client; or there is no thread
  };
  struct VerifierStats {
    std::uint64_t right = 0;
    std::uint64_t wrong = 0;
    double seconds = 0;  // of CPU time
  };

  PasswordVerifier();

  // Forgets all results if the users differ from before.
  void set_users(const Users& users);
  // Does not wait.
  State check(const Credentials& credentials, const ClientKey& client);

  // Readable when it may be worth asking again.
  const EventFd& changes() const { return worker_.changes(); }
  VerifierStats stats() const;

  // Ends the thread. False: a check outlasted `timeout`; the thread is detached and ends by itself.
  bool stop(std::chrono::milliseconds timeout) { return worker_.stop(timeout); }

 private:
  struct Found {
    bool right = false;
    std::uint64_t number = 0;  // in the order of finding
  };
  struct Counted {
    std::mutex mutex;
    VerifierStats stats;
  };
  // A keyed hash of them, for these users. Nothing if GnuTLS fails: then no password is accepted.
  std::optional<std::string> digest_of(const Credentials& credentials) const;
  void remember(const std::string& digest, bool right);

  std::array<std::uint8_t, 32> key_{};
  bool has_key_ = false;
  std::shared_ptr<const Users> users_ = std::make_shared<const Users>();
  std::uint64_t times_set_ = 0;
  std::map<std::string, Found> found_;
  std::uint64_t numbers_ = 0;
  std::shared_ptr<Counted> counted_ = std::make_shared<Counted>();
  QueryWorker worker_;
};

// Whether the password is that of the user. Takes as long for users that do not exist.
bool password_matches(const PasswordVerifier::Users& users, const Credentials& credentials);

}  // namespace jetmem
