// jetmem-reader: reads the files that need privilege or may hang in the kernel, and hands their
// bytes to the daemon. It is all that ever holds a capability, so it does nothing else: no parsing,
// no network, no path from outside.
//
// It serves one connection, on descriptor 3: given by systemd's socket activation (Accept=yes) or
// by the program that spawned it. It ends when the connection does, and it ends itself when a read
// does not return in time; a read stuck in the kernel beyond any signal keeps only this process.

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/root.h"
#include "base/snapshot.h"
#include "base/spawn.h"
#include "base/version.h"
#include "collectors/reader/protocol.h"
#include "collectors/registry.h"

namespace jetmem::reader {
namespace {

constexpr int kConnection = 3;
constexpr int kExitUsage = 2;

constexpr std::string_view kHelp =
    "Usage: jetmem-reader [--root DIR]\n"
    "\n"
    "Reads jetmem's privileged sources for jetmemd, which starts it: by hand it is of no use.\n"
    "Serves one connection, a SOCK_SEQPACKET socket on descriptor 3.\n"
    "\n"
    "  --root DIR  read below DIR (a fixture, scenario or captured bundle) instead of /\n"
    "  --help      this text\n"
    "  --version   the version\n";

// SIGALRM's default action ends the process, whatever the read is doing, unless the kernel
// holds it in an uninterruptible wait.
void arm_deadline(std::uint32_t milliseconds) {
  itimerval timer{};
  timer.it_value.tv_sec = milliseconds / 1000;
  timer.it_value.tv_usec = static_cast<suseconds_t>(milliseconds % 1000) * 1000;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

bool send_packet(const AnswerHeader& header, std::string_view piece) {
  iovec parts[2] = {{const_cast<AnswerHeader*>(&header), sizeof header},
                    {const_cast<char*>(piece.data()), piece.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  ssize_t n = 0;
  do {
    n = ::sendmsg(kConnection, &message, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n >= 0;
}

class Server {
 public:
  explicit Server(Root root) : root_(std::move(root)) {
    for (const SourceInfo* info : all_source_infos()) {
      sources_.push_back({info, SnapshotReader(info->paths, info->limits)});
    }
  }

  // False when the connection is over.
  bool serve_one() {
    Request request;
    ssize_t n = 0;
    do {
      n = ::recv(kConnection, &request, sizeof request, 0);
    } while (n < 0 && errno == EINTR);
    if (n != sizeof request || request.magic != kMagic) return false;
    request.source[sizeof request.source - 1] = '\0';
    arm_deadline(request.deadline_ms);
    const bool sent = answer(request);
    arm_deadline(0);
    return sent;
  }

 private:
  struct Served {
    const SourceInfo* info;
    SnapshotReader reader;
  };

  bool answer(const Request& request) {
    AnswerHeader header;
    header.sequence = request.sequence;
    for (Served& served : sources_) {
      if (served.info->name != request.source) continue;
      const Nanoseconds begin = clock_.mono();
      const Snapshot& snapshot = served.reader.read(root_);
      header.read_ns = static_cast<std::uint64_t>((clock_.mono() - begin).count());
      if (snapshot.truncated()) header.flags |= AnswerHeader::kTruncated;
      stream_.clear();
      encode(snapshot, stream_);
      return send_stream(header, stream_.view());
    }
    header.flags = AnswerHeader::kUnknownSource | AnswerHeader::kLast;
    return send_packet(header, {});
  }

  static bool send_stream(AnswerHeader header, std::string_view stream) {
    const std::uint32_t flags = header.flags;
    for (;;) {
      const std::string_view piece = stream.substr(0, kMaxPacket - sizeof header);
      stream.remove_prefix(piece.size());
      header.flags = flags | (stream.empty() ? AnswerHeader::kLast : 0);
      if (!send_packet(header, piece)) return false;
      if (stream.empty()) return true;
    }
  }

  Root root_;
  SystemClock clock_;
  std::vector<Served> sources_;
  ByteBuffer stream_;
};

int run(int argc, char** argv) {
  std::string root_directory;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") {
      std::fputs(kHelp.data(), stdout);
      return 0;
    }
    if (argument == "--version") {
      std::printf("jetmem-reader %s\n", kVersion);
      return 0;
    }
    if (argument == "--root" && i + 1 < argc) {
      root_directory = argv[++i];
      continue;
    }
    std::fprintf(stderr, "jetmem-reader: unknown argument '%s'; see --help\n", argv[i]);
    return kExitUsage;
  }
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(kConnection, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
    std::fputs(
        "jetmem-reader: descriptor 3 is not the daemon's socket; jetmemd starts this "
        "program, or systemd does\n",
        stderr);
    return kExitUsage;
  }
  // Nothing of whoever started us stays open in a process that may hang for ever.
  close_from(kConnection + 1);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; null >= 0 && fd < 3; ++fd) ::dup2(null, fd);
  if (null > kConnection) ::close(null);
  ::signal(SIGALRM, SIG_DFL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_NAME, "jetmem-reader", 0, 0, 0);

  Root root = Root::live();
  if (!root_directory.empty()) {
    auto other = Root::at(root_directory);
    if (!other) return 1;
    root = std::move(*other);
  }
  // Hello: tells the other side, through the kernel, which process it talks to, before any read
  // can hang.
  AnswerHeader hello;
  hello.flags = AnswerHeader::kLast;
  if (!send_packet(hello, {})) return 1;
  Server server(std::move(root));
  while (server.serve_one()) {
  }
  return 0;
}

}  // namespace
}  // namespace jetmem::reader

int main(int argc, char** argv) { return jetmem::reader::run(argc, argv); }
