// SPDX-License-Identifier: Apache-2.0
#include "cli/watch/signals.h"

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

constexpr std::array kCrashes{SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

// What a handler may touch.
termios terminal{};
bool terminal_known = false;
std::array<char, 256> crash_text{};
std::size_t crash_size = 0;
std::atomic<bool> is_right{true};  // the terminal is as it was before us

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

void take_usual_effect(int signal) {
  set_handler(signal, SIG_DFL, 0);
  sigset_t only;
  sigset_t before;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::raise(signal);
  // A blocked one has its effect here.
  ::sigprocmask(SIG_UNBLOCK, &only, &before);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
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
