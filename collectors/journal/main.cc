// SPDX-License-Identifier: Apache-2.0
// jetmem-journal: follows the journal for the daemon and hands over the few lines that matter.
//
// A process of its own, because reading the journal may block on storage, maps files that may
// shrink under it (SIGBUS), and may cost much: the daemon's loop does none of that. It serves one
// connection, on descriptor 3, and ends with it.

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/fatal_handler.h"
#include "base/spawn.h"
#include "base/text/print_error.h"
#include "base/text/text.h"
#include "base/unique_fd.h"
#include "base/version.h"
#include "collectors/journal/program/follower.h"

namespace jetmem::journal {
namespace {

constexpr int kPausedMs = 100;
// Lines that come one by one are read together.
constexpr Nanoseconds kGather = std::chrono::milliseconds(100);

constexpr std::string_view kHelp =
    "Usage: jetmem-journal [--kernel [--after-cursor CURSOR]]\n"
    "                      [--processes [--needle TEXT]... [--after-cursor CURSOR]]\n"
    "                      [--directory DIR] [--rate N] [--no-follow]\n"
    "\n"
    "Follows the journal for jetmemd, which starts it: by hand it is of no use. Hands lines over\n"
    "on descriptor 3, a SOCK_SEQPACKET socket.\n"
    "\n"
    "  --kernel               hand over the kernel's lines\n"
    "  --processes            hand over processes' lines that may be messages jetmem knows\n"
    "  --needle TEXT          or that have this text, in the first 4 KiB of a line\n"
    "  --after-cursor CURSOR  for the --kernel or --processes before it: begin after this line;\n"
    "                         without it, at the first line of this boot\n"
    "  --directory DIR        the journal files in DIR, of whatever boot, instead of the system's\n"
    "  --rate N               read at most N lines per second (5000)\n"
    "  --no-follow            end when what is there has been read\n"
    "  --help                 this text\n"
    "  --version              the version\n";

void answer_ping(const std::vector<std::unique_ptr<Follower>>& followers) {
  char bytes[16];
  const ssize_t n = ::recv(kConnection, bytes, sizeof bytes, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) ::_exit(0);
  for (const auto& follower : followers) follower->hand_over_position();
  hand_over(PacketKind::kAlive, Voice::kKernel, {});
}

int follow(const Options& options) {
  std::vector<std::unique_ptr<Follower>> followers;
  for (const Voice voice : {Voice::kKernel, Voice::kProcesses}) {
    if (!options.voices[static_cast<std::size_t>(voice)]) continue;
    followers.push_back(std::make_unique<Follower>(options, voice));
    followers.back()->start();
  }
  const SystemClock clock;
  bool reported = false;
  for (;;) {
    int timeout = -1;
    bool at_end = true;
    const auto no_later_than = [&](int ms) {
      if (ms >= 0 && (timeout < 0 || ms < timeout)) timeout = ms;
    };
    for (const auto& follower : followers) {
      const Follower::Outcome outcome = follower->read_some();
      at_end = at_end && outcome == Follower::Outcome::kEnd;
      if (outcome == Follower::Outcome::kMore) no_later_than(0);
      if (outcome == Follower::Outcome::kPaused) no_later_than(kPausedMs);
    }
    if (!reported && std::all_of(followers.begin(), followers.end(),
                                 [](const auto& follower) { return follower->caught_up(); })) {
      reported = true;
      for (const auto& follower : followers) follower->hand_over_position();
      hand_over(PacketKind::kCaughtUp, Voice::kKernel, {});
      if (!options.follow) return 0;
    }
    std::array<pollfd, 1 + kVoices> ready{{{kConnection, POLLIN, 0}}};
    nfds_t count = 1;
    // While there is more to read, news of yet more would only wake for nothing.
    if (at_end && options.follow) {
      for (const auto& follower : followers) {
        ready[count++] = follower->poll_entry();
        no_later_than(follower->timeout_ms());
      }
    }
    const Nanoseconds read_at = clock.mono();
    const int woken = ::poll(ready.data(), count, timeout);
    const Nanoseconds early = kGather - (clock.mono() - read_at);
    if (woken > 0 && ready[0].revents == 0 && early > Nanoseconds(0)) {
      ::poll(ready.data(), 1, static_cast<int>(early / std::chrono::milliseconds(1)));
    }
    if (ready[0].revents != 0) answer_ping(followers);
    for (const auto& follower : followers) follower->process();
  }
}

int usage(const std::string& what) {
  print_error("jetmem-journal: " + what + "; see --help");
  return kExitUsage;
}

int run(int argc, char** argv) {
  Options options;
  std::optional<Voice> last;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto takes = [&](std::string_view name) { return argument == name && i + 1 < argc; };
    if (argument == "--help") {
      std::fputs(kHelp.data(), stdout);
      return 0;
    }
    if (argument == "--version") {
      std::printf("jetmem-journal %s\n", kVersion);
      return 0;
    }
    if (argument == "--kernel" || argument == "--processes") {
      last = argument == "--kernel" ? Voice::kKernel : Voice::kProcesses;
      options.voices[static_cast<std::size_t>(*last)] = true;
    } else if (argument == "--no-follow") {
      options.follow = false;
    } else if (takes("--after-cursor") && last) {
      options.cursors[static_cast<std::size_t>(*last)] = argv[++i];
    } else if (takes("--needle") && argv[i + 1][0] != '\0') {
      options.needles.emplace_back(argv[++i]);
    } else if (takes("--directory")) {
      options.directory = argv[++i];
    } else if (takes("--rate") && parse_u64(argv[i + 1]).value_or(0) > 0) {
      options.rate = static_cast<double>(*parse_u64(argv[++i]));
    } else {
      return usage("unknown or incomplete argument '" + std::string(argument) + "'");
    }
  }
  if (!options.voices[0] && !options.voices[1]) return usage("neither --kernel nor --processes");
  if (!options.voices[1] && !options.needles.empty()) return usage("--needle goes with --processes");
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(kConnection, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
    std::fputs("jetmem-journal: descriptor 3 is not the daemon's socket; jetmemd starts this\n",
               stderr);
    return kExitUsage;
  }
  close_from(kConnection + 1);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_NAME, "jetmem-journal", 0, 0, 0);
  return follow(options);
}

}  // namespace
}  // namespace jetmem::journal

int main(int argc, char** argv) {
  jetmem::install_fatal_handler();
  return jetmem::journal::run(argc, argv);
}
