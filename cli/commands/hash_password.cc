// SPDX-License-Identifier: Apache-2.0
// jetmem hash-password: a password as basic_auth_users of a web configuration wants it.

#include <crypt.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "config/web/web_config.h"

namespace jetmem {
namespace {

constexpr int kUsualCost = 10;
constexpr int kLeastCost = 8;
// bcrypt ignores bytes beyond this.
constexpr std::size_t kMostBytes = 72;

termios echo_of_before{};

// Restores the terminal when interrupted.
void restore_and_die(int signal) {
  // In the background it would be stopped for it, and not die.
  if (::tcgetpgrp(STDIN_FILENO) == ::getpgrp()) {
    ::tcsetattr(STDIN_FILENO, TCSANOW, &echo_of_before);
  }
  ::raise(signal);  // Its handler is the usual one again (SA_RESETHAND).
}

// Nothing is shown of what is typed, for as long as this lives.
class NoEcho {
 public:
  NoEcho() {
    if (::isatty(STDIN_FILENO) == 0 || ::tcgetattr(STDIN_FILENO, &echo_of_before) != 0) return;
    struct sigaction action {};
    action.sa_handler = restore_and_die;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (std::size_t i = 0; i < kDeadly.size(); ++i) {
      ::sigaction(kDeadly[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(kDeadly[i], &action, nullptr);
    }
    has_handlers_ = true;
    termios quiet = echo_of_before;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    is_set_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) == 0;
  }
  ~NoEcho() {
    if (is_set_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &echo_of_before);
    for (std::size_t i = 0; has_handlers_ && i < kDeadly.size(); ++i) {
      ::sigaction(kDeadly[i], &before_[i], nullptr);
    }
  }
  NoEcho(const NoEcho&) = delete;
  NoEcho& operator=(const NoEcho&) = delete;

 private:
  static constexpr std::array kDeadly{SIGINT, SIGQUIT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kDeadly.size()> before_{};
  bool has_handlers_ = false;
  bool is_set_ = false;
};

// One line of stdin; nothing where there is none.
std::optional<std::string> read_line(const char* prompt) {
  const bool is_terminal = ::isatty(STDIN_FILENO) != 0;
  if (is_terminal) std::fputs(prompt, stderr);
  std::string out;
  const NoEcho no_echo;
  int c = 0;
  while ((c = std::getchar()) != EOF && c != '\n' && out.size() <= kMostBytes) {
    out.push_back(static_cast<char>(c));
  }
  if (is_terminal) std::fputc('\n', stderr);
  if (c == EOF && out.empty()) return std::nullopt;
  // As of a file that is read with --password-file.
  if (!out.empty() && out.back() == '\r') out.pop_back();
  return out;
}

int refuse(const char* why) { return failed("hash-password", {Errc::kMalformed, why}); }

struct HashOptions {
  int cost = kUsualCost;
};

int run_hash_password(const HashOptions& options) {
  const int cost = options.cost;
  const auto password = read_line("Password: ");
  if (!password || password->empty()) {
    return failed("hash-password", {Errc::kAbsent, "no password was given"});
  }
  if (password->size() > kMostBytes) {
    return refuse("more than 72 bytes; bcrypt would ignore the rest");
  }
  if (password->find('\0') != std::string::npos) return refuse("the password contains a NUL");
  if (::isatty(STDIN_FILENO) != 0) {
    const auto again = read_line("Again: ");
    if (!again || *again != *password) return refuse("the passwords differ");
  }
  std::array<char, CRYPT_GENSALT_OUTPUT_SIZE> setting{};
  const auto data = std::make_unique<crypt_data>();
  const char* hash = nullptr;
  if (::crypt_gensalt_rn("$2b$", static_cast<unsigned long>(cost), nullptr, 0, setting.data(),
                         static_cast<int>(setting.size())) != nullptr) {
    hash = ::crypt_r(password->c_str(), setting.data(), data.get());
  }
  if (hash == nullptr || bcrypt_cost(hash) != cost) {
    std::fputs("jetmem hash-password: libcrypt does not support bcrypt here\n", stderr);
    return kExitUnavailable;
  }
  std::printf("%s\n", hash);
  return kExitOk;
}

}  // namespace

void add_hash_password_command(const Command& program) {
  const Command command =
      program.add("hash-password", "Hash a password for the users of a web configuration (bcrypt)");
  auto& options = command.runs(run_hash_password);
  command.without_root();
  command
      .option("--cost", options.cost, "N", "Cost factor; +1 doubles the time; 8 to 14, default 10")
      .range(kLeastCost, WebConfig::kMaxCost);
  command.footer(
      "Asks for the password, or takes the first line of its input, and prints the hash:\n"
      "  basic_auth_users:\n"
      "    alice: HASH\n"
      "See docs/access.md.");
  command.exit_status("0 if the hash was printed");
}

}  // namespace jetmem
