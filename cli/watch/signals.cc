// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/signals.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/fatal_handler.h"

namespace jetmem::watch {
namespace {

constexpr std::array kTaken{SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH};
constexpr std::array kCrashes{SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

// What a handler may touch.
std::atomic<int> write_end{-1};
termios terminal{};
bool terminal_known = false;
std::array<char, 256> crash_text{};
std::size_t crash_size = 0;
std::atomic<bool> is_right{true};  // the terminal is as it was before us

void notify(int signal) {
  const int saved = errno;
  const auto byte = static_cast<unsigned char>(signal);
  const int fd = write_end.load();
  // A full pipe wakes the loop anyway.
  if (fd >= 0 && ::write(fd, &byte, 1) < 0) errno = saved;
  errno = saved;
}

void set_handler(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

// Async-signal-safe calls only.
void restore() {
  if (is_right.exchange(true)) return;
  if (::write(STDOUT_FILENO, crash_text.data(), crash_size) < 0) errno = 0;
  if (terminal_known) ::tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
}

// SA_RESETHAND: the second signal is the default's.
void crashed(int signal) {
  restore();
  ::raise(signal);
}

}  // namespace

Result<Signals> Signals::take() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return tl::unexpected(errno_error("pipe", "", errno));
  }
  Signals out{UniqueFd(ends[0]), UniqueFd(ends[1])};
  write_end = ends[1];
  for (const int signal : kTaken) set_handler(signal, notify, SA_RESTART);
  return out;
}

Signals::~Signals() {
  if (write_.get() < 0) return;  // moved from
  for (const int signal : kTaken) set_handler(signal, SIG_DFL, 0);
  write_end = -1;
}

std::optional<int> Signals::next() {
  unsigned char byte = 0;
  if (::read(read_.get(), &byte, 1) != 1) return std::nullopt;
  return byte;
}

void Signals::wake() { notify(0); }

void suspend_self() {
  set_handler(SIGTSTP, SIG_DFL, 0);
  ::raise(SIGTSTP);
  set_handler(SIGTSTP, notify, SA_RESTART);
}

void exit_by_signal(int signal) {
  set_handler(signal, SIG_DFL, 0);
  ::raise(signal);
}

void restore_on_crash(const char* text) {
  crash_size = std::min(std::strlen(text), crash_text.size());
  std::memcpy(crash_text.data(), text, crash_size);
  terminal_known = ::tcgetattr(STDIN_FILENO, &terminal) == 0;
  is_right = false;
  set_fatal_cleanup(restore);
  for (const int signal : kCrashes) {
    set_handler(signal, crashed, static_cast<int>(SA_RESETHAND | SA_NODEFER));
  }
}

void restored() { is_right = true; }

}  // namespace jetmem::watch
