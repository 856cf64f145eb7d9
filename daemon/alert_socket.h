// Tells one line to whoever listens on a socket of this machine, and waits until it was taken: the
// listener reads to the end of the stream and closes. One at a time; nothing of it blocks.
//
// A listener may be absent, full, close without reading (systemd's, when its unit runs often
// enough already), never read, or answer without end.
#pragma once

#include <systemd/sd-event.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jetmem {

class AlertSocket {
 public:
  // Of what it answers; none of it is looked at.
  static constexpr std::size_t kMaxAnswer = 64U << 10;

  enum class End : std::uint8_t {
    kTaken,
    kNotRead,  // closed before all of it was read
    kFlood,
  };
  using OnEnd = std::function<void(End end, std::string how)>;

  explicit AlertSocket(OnEnd on_end) : on_end_(std::move(on_end)) {}
  ~AlertSocket() { close(); }
  AlertSocket(const AlertSocket&) = delete;
  AlertSocket& operator=(const AlertSocket&) = delete;

  void attach(sd_event* event) { event_ = event; }
  // Not while it is busy. An error: nobody was told.
  Result<void> tell(const std::string& path, std::string line);
  // Gives up; on_end is not called.
  void close();
  bool busy() const { return fd_.valid(); }
  // For people: how far it came.
  std::string_view progress() const;

 private:
  static int on_ready(sd_event_source*, int, std::uint32_t events, void* self);
  void send_more();
  void read_answer();
  void finish(End end, std::string how);

  OnEnd on_end_;
  sd_event* event_ = nullptr;
  sd_event_source* ready_ = nullptr;
  UniqueFd fd_;
  std::string line_;
  std::size_t sent_ = 0;
  std::size_t answered_ = 0;
};

}  // namespace jetmem
