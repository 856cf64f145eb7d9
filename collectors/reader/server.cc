// SPDX-License-Identifier: Apache-2.0
#include "collectors/reader/server.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace jetmem::reader {
namespace {

// Beyond all that a setting allows: whoever asks is not believed to ask as jetmemd would.
constexpr std::uint32_t kLongestDeadlineMs = 600'000;

// SIGALRM's default action ends the process, whatever the read is doing, unless the kernel
// holds it in an uninterruptible wait.
void arm_deadline(std::uint32_t milliseconds) {
  itimerval timer{};
  timer.it_value.tv_sec = milliseconds / 1000;
  timer.it_value.tv_usec = static_cast<suseconds_t>(milliseconds % 1000) * 1000;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

Server::Server(int connection, Root root, std::span<const SourceInfo* const> sources)
    : connection_(connection), root_(std::move(root)) {
  for (const SourceInfo* info : sources) {
    sources_.push_back({info, SnapshotReader(info->paths, info->limits, info->gather, info->name)});
  }
}

bool Server::send_hello() {
  AnswerHeader hello;
  hello.flags = AnswerHeader::kLast;
  return send_packet(hello, {});
}

bool Server::serve_one() {
  Request request;
  ssize_t n = 0;
  do {
    // With the packet's own length: the beginning of a longer one is no request.
    n = ::recv(connection_, &request, sizeof request, MSG_TRUNC);
  } while (n < 0 && errno == EINTR);
  if (n != sizeof request || request.magic != kMagic) return false;
  // 0 would be none at all.
  if (request.deadline_ms == 0 || request.deadline_ms > kLongestDeadlineMs) return false;
  request.source[sizeof request.source - 1] = '\0';
  arm_deadline(request.deadline_ms);
  const bool sent = answer(request);
  arm_deadline(0);
  return sent;
}

bool Server::answer(const Request& request) {
  AnswerHeader header;
  header.sequence = request.sequence;
  for (Served& served : sources_) {
    if (served.info->name != request.source) continue;
    if (served.info->access == Access::kStream) return answer_descriptor(*served.info, header);
    return answer_text(served, header, request.is_sparing != 0);
  }
  header.flags = AnswerHeader::kUnknownSource | AnswerHeader::kLast;
  return send_packet(header, {});
}

bool Server::answer_text(Served& served, AnswerHeader header, bool is_sparing) {
  const Nanoseconds begin = clock_.mono();
  const Snapshot& snapshot = served.reader.read(root_, is_sparing);
  header.read_ns = static_cast<std::uint64_t>((clock_.mono() - begin).count());
  if (snapshot.truncated()) header.flags |= AnswerHeader::kTruncated;
  stream_.clear();
  encode(snapshot, stream_);
  return send_stream(header, stream_.view());
}

bool Server::answer_descriptor(const SourceInfo& info, AnswerHeader header) {
  const Nanoseconds begin = clock_.mono();
  std::string_view path = info.paths.empty() ? std::string_view() : info.paths.front();
  UniqueFd fd;
  int error = ENOENT;
  for (const std::string_view candidate : info.paths) {
    int cause = 0;
    fd = root_.open_stream(candidate, cause);
    if (cause == ENOENT) continue;
    path = candidate;
    error = cause;
    break;
  }
  header.read_ns = static_cast<std::uint64_t>((clock_.mono() - begin).count());
  header.flags |= AnswerHeader::kLast;
  if (fd.valid()) header.flags |= AnswerHeader::kDescriptor;
  Snapshot snapshot;
  snapshot.add(path, {}, error);
  stream_.clear();
  encode(snapshot, stream_);
  return send_packet(header, stream_.view(), fd.get());
}

bool Server::send_stream(AnswerHeader header, std::string_view stream) {
  const std::uint32_t flags = header.flags;
  for (;;) {
    const std::string_view piece = stream.substr(0, kMaxPacket - sizeof header);
    stream.remove_prefix(piece.size());
    header.flags = flags | (stream.empty() ? AnswerHeader::kLast : 0);
    if (!send_packet(header, piece)) return false;
    if (stream.empty()) return true;
  }
}

bool Server::send_packet(const AnswerHeader& header, std::string_view piece, int descriptor) {
  iovec parts[2] = {{const_cast<AnswerHeader*>(&header), sizeof header},
                    {const_cast<char*>(piece.data()), piece.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  ssize_t n = 0;
  do {
    n = ::sendmsg(connection_, &message, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n >= 0;
}

}  // namespace jetmem::reader
