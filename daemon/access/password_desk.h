// Where passwords are held against their bcrypt hashes: on a thread of its own, one at a time, for
// each takes a tenth of a second or more. What was found is remembered by a keyed hash until the
// users change, so that a client costs one check and not one for each request.
//
// A flood of wrong passwords takes a quarter of one processor, of low priority: after a wrong one
// the thread rests three times as long as it took of that. Each client has few places in the queue,
// so that a flood of one does not keep out another; who is remembered as right does not come here
// at all.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "config/web_config.h"
#include "daemon/access/basic_auth.h"
#include "daemon/access/client_key.h"

namespace jetmem {

class PasswordDesk {
 public:
  using Users = std::vector<WebConfig::User>;

  static constexpr std::size_t kMostWaiting = 16;
  static constexpr std::size_t kMostOfClient = 4;
  static constexpr std::size_t kMostRemembered = 256;
  static constexpr int kRestAfterWrong = 3;  // times as long as the check took

  enum class State {
    kRight,
    kWrong,
    kAsked,       // it will be checked, or is being: come again at news
    kClientFull,  // this client has enough of them waiting
    kFull,
    kNoThread,
  };
  struct Figures {
    std::uint64_t right = 0;
    std::uint64_t wrong = 0;
    double seconds = 0;  // of a processor
  };

  PasswordDesk();
  ~PasswordDesk() { stop(std::chrono::milliseconds(0)); }
  PasswordDesk(const PasswordDesk&) = delete;
  PasswordDesk& operator=(const PasswordDesk&) = delete;

  // Forgets what was found, where they are others than before.
  void set_users(const Users& users);
  // Waits for nothing.
  State check(const Credentials& credentials, const ClientKey& client);
  // What is remembered.
  std::optional<bool> known(const Credentials& credentials) const;

  // Readable when it may be worth to come again.
  int news_fd() const { return shared_->news.get(); }
  void news_seen();
  Figures figures() const;

  // Ends the thread. False when it did not within `patience`, and is left behind: it ends by
  // itself.
  bool stop(std::chrono::milliseconds patience);

 private:
  using Digest = std::array<std::uint8_t, 32>;
  struct Job {
    Digest digest{};
    Credentials credentials;
    ClientKey client;
  };
  struct Found {
    bool right = false;
    std::uint64_t number = 0;  // in the order of finding
  };
  // Outlives the desk when its thread is in the middle of a check.
  struct Shared {
    UniqueFd news;
    mutable std::mutex mutex;  // guards all below
    std::condition_variable changed;
    std::shared_ptr<const Users> users = std::make_shared<const Users>();
    std::deque<Job> queue;
    std::optional<Digest> checking;
    std::map<Digest, Found> found;
    std::uint64_t numbers = 0;
    Figures figures;
    bool stopping = false;
    bool finished = false;

    void remember(const Digest& digest, bool right);
  };
  static void run(const std::shared_ptr<Shared>& shared);
  // Nothing where the library makes none: then nobody is known, and nobody is let in.
  std::optional<Digest> digest_of(const Credentials& credentials) const;
  bool start();

  std::array<std::uint8_t, 32> key_{};
  bool has_key_ = false;
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

// Whether the password is that of the user. Takes as long for users that are not there.
bool password_is_right(const PasswordDesk::Users& users, const Credentials& credentials);

}  // namespace jetmem
