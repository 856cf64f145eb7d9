// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/process/poll_loop.h"
#include "collectors/reader/client.h"
#include "tests/fuzz/target.h"
#include "tests/temp_dir.h"
#include "tests/unix_socket.h"

namespace {

using namespace jetmem;

class NoSpawner final : public Spawner {
 public:
  Result<Child> spawn(const SpawnRequest& /*request*/) override {
    return fail(Errc::kUnavailable, "nobody is to be started");
  }
};

}  // namespace

// Packets of something that answers in the reader's place: a byte of flags and two of length before
// each. The first flag sends a descriptor along, the second puts a good header in front. Each
// request is answered once, whatever comes.
FUZZ(rest) {
  static const TempDir dir;
  static const UniqueFd listener = unix_listener(dir.file("reader.socket"), SOCK_SEQPACKET);
  static const SystemClock clock;
  static NoSpawner spawner;
  int answers = 0;
  reader::ClientOptions options;
  options.socket = dir.file("reader.socket");
  PollLoop loop;
  reader::Client client(options, clock, spawner,
                        [&](std::string_view, Result<const Snapshot*> snapshot, Nanoseconds) {
                          ++answers;
                          check(snapshot || !snapshot.error().message.empty());
                        });
  check(client.attach(loop).has_value());
  client.request("meminfo");
  UniqueFd there(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  check(there.valid() && answers == 0);
  while (rest.size() >= 3 && answers == 0) {
    const auto flags = static_cast<unsigned>(byte_of(rest, 0));
    const std::string_view payload =
        rest.substr(3, std::min<std::size_t>(two_bytes_of(rest, 1), reader::kMaxPacket));
    rest.remove_prefix(3 + payload.size());
    reader::AnswerHeader header;
    header.sequence = 1;
    header.flags = flags >> 4;
    iovec parts[2] = {{&header, (flags & 2U) != 0 ? sizeof header : 0},
                      {const_cast<char*>(payload.data()), payload.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const int descriptor = there.get();
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
    if ((flags & 1U) != 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* const rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof descriptor);
      std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    }
    (void)::sendmsg(there.get(), &message, MSG_NOSIGNAL);
    loop.run_once(Nanoseconds(0));
  }
  there.reset();
  loop.run_once(Nanoseconds(0));
  check(answers == 1 && client.idle());
}
