#include "daemon/alert_socket.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/units.h"

namespace jetmem {

Result<void> AlertSocket::tell(const std::string& path, std::string line) {
  if (busy()) return fail(Errc::kUnavailable, "the one before is not done yet");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalid, "socket path too long: " + path);
  }
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid() ||
      ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return tl::unexpected(errno_error("connect to", path, errno));
  }
  const int ok = sd_event_add_io(event_, &ready_, fd.get(), EPOLLIN | EPOLLOUT, on_ready, this);
  if (ok < 0) return tl::unexpected(errno_error("wait for", path, -ok));
  fd_ = std::move(fd);
  line_ = std::move(line);
  sent_ = 0;
  answered_ = 0;
  return {};
}

void AlertSocket::close() {
  ready_ = sd_event_source_unref(ready_);
  fd_.reset();
  line_.clear();
}

std::string_view AlertSocket::progress() const {
  return sent_ < line_.size() ? "not all of it was read" : "it was not closed";
}

int AlertSocket::on_ready(sd_event_source*, int, std::uint32_t events, void* self) {
  auto* socket = static_cast<AlertSocket*>(self);
  if ((events & EPOLLOUT) != 0 && socket->sent_ < socket->line_.size()) socket->send_more();
  if (socket->busy() && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) socket->read_answer();
  return 0;
}

void AlertSocket::send_more() {
  const ssize_t n =
      ::send(fd_.get(), line_.data() + sent_, line_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n < 0) return finish(End::kNotRead, errno_error("write to", "it", errno).message);
  sent_ += static_cast<std::size_t>(n);
  if (sent_ < line_.size()) return;
  // The listener sees the end; what is left is to wait for its own.
  ::shutdown(fd_.get(), SHUT_WR);
  sd_event_source_set_io_events(ready_, EPOLLIN);
}

void AlertSocket::read_answer() {
  std::array<char, 4096> bytes;
  const ssize_t n = ::read(fd_.get(), bytes.data(), bytes.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) {
    answered_ += static_cast<std::size_t>(n);
    if (answered_ > kMaxAnswer)
      finish(End::kFlood, "answered more than " + format_size(kMaxAnswer));
    return;
  }
  // The kernel says so when there was something left to read.
  if (n < 0) return finish(End::kNotRead, "closed the connection without reading all of it");
  if (sent_ < line_.size()) return finish(End::kNotRead, "closed the connection too early");
  finish(End::kTaken, {});
}

void AlertSocket::finish(End end, std::string how) {
  close();
  on_end_(end, std::move(how));
}

}  // namespace jetmem
