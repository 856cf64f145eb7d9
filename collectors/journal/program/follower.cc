// SPDX-License-Identifier: Apache-2.0
#include "collectors/journal/program/follower.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "collectors/kernel_log/catalogue/catalogue.h"
#include "base/result.h"
#include "base/root/small_file.h"
#include "base/text/text.h"
#include "base/unique_fd.h"

namespace jetmem::journal {
namespace {

constexpr double kBurstSeconds = 4;
// Behind for longer than this, it goes on at the tail and says so.
constexpr Nanoseconds kLagLimit = std::chrono::seconds(5);
constexpr int kBatch = 256;
// Pages of journal files that stay mapped: libsystemd alone would keep half a GiB.
constexpr std::size_t kMappedLimit = 24U << 20;
constexpr std::uint64_t kMappedInterval = 4096;  // entries

// Why there is nothing to follow; nothing where there is.
std::optional<std::string> blind_reason(sd_journal* journal, const std::string& directory) {
  std::uint64_t bytes = 0;
  const bool has_files = sd_journal_get_usage(journal, &bytes) >= 0 && bytes > 0;
  if (!directory.empty()) {
    if (has_files) return std::nullopt;
    return directory + ": no journal file that may be read";
  }
  // Opening succeeds also where nothing may be read, or nothing but somebody's own log.
  sd_id128_t machine;
  if (sd_id128_get_machine(&machine) >= 0) {
    char id[SD_ID128_STRING_MAX];
    sd_id128_to_string(machine, id);
    for (const char* location : {"/run/log/journal/", "/var/log/journal/"}) {
      const std::string path = std::string(location) + id + "/system.journal";
      if (::access(path.c_str(), R_OK) != 0 && errno == EACCES) {
        return errno_error("open", path, EACCES).message +
               "; membership in the group systemd-journal would help";
      }
    }
  }
  if (has_files) return std::nullopt;
  return "there is no journal: no file in /run/log/journal or /var/log/journal";
}

}  // namespace

void hand_over(const Packet& packet) {
  static std::string bytes;
  write_packet(packet, bytes);
  ssize_t n = 0;
  do {
    n = ::send(kConnection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n < 0) ::_exit(0);
}

void hand_over(PacketKind kind, Voice voice, std::string_view text, std::uint64_t count) {
  Packet packet;
  packet.header.kind = kind;
  packet.header.voice = voice;
  packet.header.count = count;
  packet.text = text;
  hand_over(packet);
}

void end_blind(const std::string& why) {
  hand_over(PacketKind::kBlind, Voice::kKernel, why);
  ::_exit(kExitBlind);
}

Follower::Follower(const Options& options, Voice voice)
    : options_(options), voice_(voice), tokens_(options.rate * kBurstSeconds) {}

void Follower::check(int result, const char* what) const {
  if (result >= 0) return;
  const std::string& directory = options_.directory;
  end_blind(errno_error(what, directory.empty() ? "the journal" : directory, -result).message);
}

void Follower::match(const std::string& text) {
  check(sd_journal_add_match(journal_, text.data(), text.size()), "filter");
}

void Follower::open() {
  const bool live = options_.directory.empty();
  // Users' programs log into files of their own.
  const int flags = SD_JOURNAL_LOCAL_ONLY | (voice_ == Voice::kKernel ? SD_JOURNAL_SYSTEM : 0);
  check(live ? sd_journal_open(&journal_, flags)
             : sd_journal_open_directory(&journal_, options_.directory.c_str(), 0),
        "open");
  if (auto why = blind_reason(journal_, options_.directory)) end_blind(*why);
  check(sd_journal_set_data_threshold(journal_, kMaxText), "set up");
  // Before the first look, so that nothing comes unnoticed in between.
  if (options_.follow) check(sd_journal_get_fd(journal_), "follow");
  check(sd_id128_get_boot(&boot_), "find the boot of");
  if (live) {
    char id[SD_ID128_STRING_MAX];
    match("_BOOT_ID=" + std::string(sd_id128_to_string(boot_, id)));
    need_entry();
  }
  if (voice_ == Voice::kKernel) {
    match("_TRANSPORT=kernel");
    match("_TRANSPORT=driver");  // journald's own words: how many kernel messages it missed
  } else {
    for (const char* transport : {"stdout", "journal", "syslog"}) {
      match(std::string("_TRANSPORT=") + transport);
    }
  }
}

// What an earlier boot left behind, or what a container's journald writes under a boot ID of its
// own, would be followed without ever a line.
void Follower::need_entry() {
  check(sd_journal_seek_head(journal_), "seek in");
  const int moved = sd_journal_next(journal_);
  check(moved, "read");
  if (moved == 0) end_blind("the journal has no entry of this boot");
}

void Follower::start() {
  open();
  refilled_ = clock_.mono();
  seek_after(options_.cursors[static_cast<std::size_t>(voice_)]);
}

// Only closing gives back what is mapped.
void Follower::limit_mapped() {
  if (examined_ < kMappedInterval) return;
  examined_ = 0;
  std::array<char, 128> text{};
  std::string_view rest = read_once("/proc/self/statm", text);
  take_u64(rest);
  take_u64(rest);
  const std::uint64_t of_files = take_u64(rest).value_or(0);
  if (of_files * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) < kMappedLimit) return;
  const std::string here = cursor();
  if (here.empty()) return;
  sd_journal_close(std::exchange(journal_, nullptr));
  open();
  seek_after(here);
}

void Follower::seek_after(const std::string& cursor) {
  positioned_ = false;
  if (cursor.empty()) {
    check(sd_journal_seek_head(journal_), "seek in");
    return;
  }
  const bool found = sd_journal_seek_cursor(journal_, cursor.c_str()) >= 0 &&
                     sd_journal_next(journal_) > 0 &&
                     sd_journal_test_cursor(journal_, cursor.c_str()) > 0;
  if (found) {
    positioned_ = true;
    return;
  }
  char id[SD_ID128_STRING_MAX];
  const std::string this_boot = "b=" + std::string(sd_id128_to_string(boot_, id));
  // Of an earlier boot: nothing of this one has been read.
  const bool well_formed = cursor.find(";b=") != std::string::npos;
  if (options_.directory.empty() && well_formed && cursor.find(this_boot) == std::string::npos) {
    check(sd_journal_seek_head(journal_), "seek in");
    return;
  }
  // From the beginning would give again what was handed over before.
  seek_tail();
  hand_over(PacketKind::kLost, voice_, "the place reached before is no longer in the journal");
}

void Follower::seek_tail() {
  check(sd_journal_process(journal_), "follow");  // new files
  check(sd_journal_seek_tail(journal_), "seek in");
  const int moved = sd_journal_previous(journal_);
  check(moved, "read");
  positioned_ = moved > 0;
  // Behind the tail of nothing, nothing would ever come.
  if (!positioned_) check(sd_journal_seek_head(journal_), "seek in");
}

void Follower::refill() {
  const Nanoseconds now = clock_.mono();
  tokens_ = std::min(tokens_ + options_.rate * to_seconds(now - refilled_),
                     options_.rate * kBurstSeconds);
  refilled_ = now;
}

Follower::Outcome Follower::read_some() {
  refill();
  if (!lagging_since_) lagging_since_ = clock_.mono();
  Outcome outcome = Outcome::kMore;
  for (int i = 0; i < kBatch && outcome == Outcome::kMore; ++i) {
    if (tokens_ < 1) {
      outcome = Outcome::kPaused;
      break;
    }
    const int moved = sd_journal_next(journal_);
    check(moved, "read");
    if (moved == 0) {
      outcome = Outcome::kEnd;
      break;
    }
    positioned_ = true;
    tokens_ -= 1;
    ++examined_;
    check_entry();
  }
  if (outcome == Outcome::kPaused && clock_.mono() - *lagging_since_ > kLagLimit) {
    seek_tail();
    hand_over(PacketKind::kLost, voice_, "more lines than can be looked at: went on at the tail");
    outcome = Outcome::kEnd;
  }
  if (outcome == Outcome::kEnd) {
    caught_up_ = true;
    lagging_since_.reset();
  }
  limit_mapped();
  if (unreadable_ != 0) {
    hand_over(PacketKind::kLost, voice_,
              errno_error("read", "entries of the journal", unreadable_error_).message,
              std::exchange(unreadable_, 0));
  }
  return outcome;
}

std::optional<std::string_view> Follower::field(const char* name) {
  const void* data = nullptr;
  std::size_t size = 0;
  const int result = sd_journal_get_data(journal_, name, &data, &size);
  if (result < 0) {
    if (result != -ENOENT) {
      ++unreadable_;
      unreadable_error_ = -result;
    }
    return std::nullopt;
  }
  std::string_view text(static_cast<const char*>(data), size);
  text.remove_prefix(std::min(text.size(), std::strlen(name) + 1));
  return text;
}

std::optional<std::uint64_t> Follower::number(const char* name) {
  const auto text = field(name);
  return text ? parse_u64(*text) : std::nullopt;
}

bool Follower::has_needle(std::string_view text) const {
  return kernel_log::Catalogue::shipped().may_be_of_program(text) ||
         std::any_of(options_.needles.begin(), options_.needles.end(),
                     [&](const std::string& needle) { return contains(text, needle); });
}

void Follower::check_entry() {
  const auto message = field("MESSAGE");
  if (!message) return;
  const bool of_process = voice_ == Voice::kProcesses;
  if (of_process && !has_needle(message->substr(0, kMaxText))) return;
  if (!of_process && field("_TRANSPORT") != "kernel") {
    report_missed(*message);
    return;
  }
  text_.assign(*message, 0, kMaxText);
  Packet packet;
  PacketHeader& header = packet.header;
  if (of_process) {
    // What jetmem itself says of an event would be one more event.
    const auto comm = field("_COMM");
    if (comm && (*comm == "jetmemd" || *comm == "jetmem-journal" || *comm == "jetmem")) return;
    if (field("JETMEM_EVENT_KIND")) return;
    unit_ = field("_SYSTEMD_UNIT").value_or("").substr(0, kMaxName);
    if (unit_.empty()) unit_ = field("SYSLOG_IDENTIFIER").value_or("").substr(0, kMaxName);
    if (const auto pid = number("_PID")) header.pid = static_cast<std::uint32_t>(*pid);
  } else {
    unit_.clear();
  }
  header.kind = PacketKind::kLine;
  header.voice = voice_;
  if (const auto n = number("PRIORITY"); n && *n < 8)
    header.priority = static_cast<std::uint8_t>(*n);
  if (const auto n = number("SYSLOG_FACILITY"); n && *n < 128) {
    header.facility = static_cast<std::uint8_t>(*n);
  }
  sd_id128_t boot;
  if (sd_journal_get_monotonic_usec(journal_, &header.monotonic_us, &boot) < 0 ||
      sd_id128_equal(boot, boot_) == 0) {
    header.flags |= PacketHeader::kOtherBoot;
  }
  if (!of_process) {
    if (const auto stamp = number("_SOURCE_MONOTONIC_TIMESTAMP")) header.monotonic_us = *stamp;
  }
  const std::string here = cursor();
  packet.cursor = here;
  packet.unit = unit_;
  packet.text = text_;
  hand_over(packet);
}

// "Missed 12 kernel messages": what the ring lost before journald read it.
void Follower::report_missed(std::string_view message) {
  if (!take_prefix(message, "Missed ")) return;
  const auto count = take_u64(message);
  if (!count || message != " kernel messages") return;
  hand_over(PacketKind::kLost, voice_, "journald missed messages of the kernel", *count);
}

std::string Follower::cursor() const {
  char* text = nullptr;
  if (!positioned_ || sd_journal_get_cursor(journal_, &text) < 0) return {};
  const std::unique_ptr<char, void (*)(void*)> owned(text, std::free);
  return text;
}

void Follower::hand_over_position() {
  const std::string here = cursor();
  if (here.empty()) return;
  Packet packet;
  packet.header.kind = PacketKind::kPosition;
  packet.header.voice = voice_;
  packet.cursor = here;
  hand_over(packet);
}

int Follower::timeout_ms() const {
  std::uint64_t at = UINT64_MAX;
  if (sd_journal_get_timeout(journal_, &at) < 0 || at == UINT64_MAX) return -1;
  const auto now = static_cast<std::uint64_t>(clock_.mono() / std::chrono::microseconds(1));
  return at <= now ? 0 : static_cast<int>(std::min<std::uint64_t>((at - now) / 1000 + 1, 60'000));
}

void Follower::process() {
  const int change = sd_journal_process(journal_);
  check(change, "follow");
  // Files came or went: those that are left may be none, or not for us.
  if (change == SD_JOURNAL_INVALIDATE) {
    if (auto why = blind_reason(journal_, options_.directory)) end_blind(*why);
  }
}

}  // namespace jetmem::journal
