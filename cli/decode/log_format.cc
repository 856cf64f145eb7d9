// SPDX-License-Identifier: Apache-2.0
#include "cli/decode/log_format.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/text/print_error.h"
#include "base/text/text.h"
#include "base/text/utc_time.h"
#include "cli/text/events/event_text.h"
#include "config/yaml_fields.h"

namespace jetmem {
namespace {

using kernel_log::LogLine;
using kernel_log::Voice;

// As much as is looked at to know a format, and as much as an entry's line or field may have.
constexpr std::size_t kHead = 4096;
constexpr std::size_t kMaxHeld = 1U << 20;

constexpr std::string_view kMessage = "MESSAGE";

// Two bytes a character, as Windows' shells write files.
bool is_utf16(std::string_view head) {
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) return true;
  if (head.size() < 4) return false;
  const auto zero = [&](std::size_t i) { return head[i] == '\0'; };
  return (!zero(0) && zero(1) && !zero(2) && zero(3)) ||
         (zero(0) && !zero(1) && zero(2) && !zero(3));
}

// The journal gives invalid UTF-8 as a list of bytes, and overlong text as null.
std::optional<std::string> text_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  if (!value.is_array()) return std::nullopt;
  std::string bytes;
  for (const nlohmann::json& each : value) {
    if (!each.is_number_unsigned() || each.get<std::uint64_t>() > 255) return std::nullopt;
    bytes.push_back(static_cast<char>(each.get<std::uint64_t>()));
  }
  return bytes;
}

std::string_view unindented(std::string_view text) {
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\r')) text.remove_suffix(1);
  skip_blanks(text);
  return text;
}

}  // namespace

LogFormat::Kind LogFormat::kind_of(std::string_view head) {
  take_prefix(head, "\xef\xbb\xbf");
  Lines lines(head);
  std::string_view line;
  while (lines.next(line)) {
    line = unindented(line);
    // journalctl's own: "-- Journal begins at ... --".
    if (line.empty() || line.starts_with("-- ")) continue;
    // "{1}[Hardware Error]: ..." is the kernel's.
    if (take_prefix(line, "{")) {
      line = unindented(line);
      return line.empty() || line[0] == '"' ? Kind::kJson : Kind::kPlain;
    }
    if (line == "[" || line == "[{") return Kind::kJson;
    if (line.starts_with("__CURSOR=")) return Kind::kExport;
    if (line.find(" [s=") != std::string_view::npos && line.find(";i=") != std::string_view::npos &&
        line.back() == ']') {
      return Kind::kVerbose;
    }
    return Kind::kPlain;
  }
  return Kind::kUnknown;
}

Result<void> LogFormat::decide(bool at_end) {
  if (is_utf16(held_)) {
    return fail(Errc::kMalformed,
                "UTF-16 is not supported; convert it with `iconv -f UTF-16 -t UTF-8`");
  }
  // By whole lines, so that it is the same however the bytes come.
  kind_ = kind_of(std::string_view(held_).substr(0, held_.rfind('\n') + 1));
  if (kind_ == Kind::kUnknown && !at_end && held_.size() < kHead) return {};
  if (kind_ == Kind::kUnknown) kind_ = kind_of(held_);
  if (kind_ == Kind::kUnknown) kind_ = Kind::kPlain;
  std::string head;
  head.swap(held_);
  take(head);
  return {};
}

Result<void> LogFormat::feed(std::string_view bytes) {
  if (kind_ != Kind::kUnknown) {
    take(bytes);
    return {};
  }
  held_.append(bytes);
  return decide(false);
}

Result<void> LogFormat::pause() {
  if (kind_ == Kind::kUnknown && !held_.empty()) {
    if (auto known = decide(true); !known) return known;
  }
  if (kind_ == Kind::kVerbose) end_entry();
  log_.flush();
  return {};
}

Result<void> LogFormat::finish() {
  if (kind_ == Kind::kUnknown) {
    if (auto known = decide(true); !known) return known;
  }
  if (kind_ != Kind::kPlain) {
    take_lines(true);
    end_entry();
  }
  log_.finish();
  return {};
}

std::string LogFormat::omitted() const {
  if (kind_ == Kind::kPlain || kind_ == Kind::kUnknown) return {};
  if (messages_ == 0) {
    return std::string(kind_ == Kind::kJson ? "this is JSON" : "this is output of journalctl") +
           " without a field MESSAGE or msg; use `journalctl -k` or `dmesg`";
  }
  if (unreadable_ == 0) return {};
  return counted(unreadable_, "message") + " omitted: too long, or of unknown form";
}

void LogFormat::take(std::string_view bytes) {
  if (kind_ == Kind::kPlain) {
    log_.feed(bytes);
    return;
  }
  const std::size_t skipped =
      static_cast<std::size_t>(std::min<std::uint64_t>(skip_, bytes.size()));
  skip_ -= skipped;
  held_.append(bytes.substr(skipped));
  take_lines(false);
}

void LogFormat::take_lines(bool at_end) {
  std::string_view rest = held_;
  if (kind_ == Kind::kExport) {
    while (!rest.empty() && take_export_field(rest)) {
    }
  } else {
    for (;;) {
      const std::size_t end = rest.find('\n');
      if (end == std::string_view::npos && (!at_end || rest.empty())) break;
      take_line(rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    if (rest.size() > kMaxHeld) {
      overlong_ = true;
      rest = {};
    }
  }
  held_.erase(0, held_.size() - rest.size());
}

void LogFormat::take_line(std::string_view line) {
  log_.count_lines(++lines_);
  if (lines_ == 1) take_prefix(line, "\xef\xbb\xbf");
  if (std::exchange(overlong_, false)) {
    ++unreadable_;
  } else if (kind_ == Kind::kJson) {
    json_line(line);
  } else {
    verbose_line(line);
  }
}

void LogFormat::json_line(std::string_view line) {
  line = unindented(line);
  if (line.empty()) return;
  if (line.back() == ',') line.remove_suffix(1);
  const bool whole = line.size() > 1 && line[0] == '{' && line.back() == '}' && line != "},{";
  // dmesg gives each member of an object a line of its own.
  if (!whole && line[0] != '"') {
    end_entry();
    return;
  }
  const nlohmann::json object = nlohmann::json::parse(
      whole ? std::string(line) : "{" + std::string(line) + "}", nullptr, false);
  if (!object.is_object()) {
    if (whole) ++unreadable_;
    return;
  }
  for (const auto& [name, value] : object.items()) {
    if (name == "time" && value.is_number()) {
      const double seconds = value.get<double>();
      if (seconds < 0 || seconds > 1e10) continue;
      const std::chrono::microseconds stamp(std::llround(seconds * 1e6));
      entry_.time = seconds_text(stamp);
      entry_.monotonic = std::to_string(stamp.count());
    } else if (const auto text = text_of(value)) {
      set(name, *text);
    } else if (name == kMessage || name == "msg") {
      entry_.unreadable = true;
    }
  }
  if (whole) end_entry();
}

void LogFormat::verbose_line(std::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (!line.empty() && !is_blank(line[0])) {
    end_entry();
    const std::size_t cursor = line.find(" [s=");
    if (cursor != std::string_view::npos) entry_.time = line.substr(0, cursor);
    return;
  }
  // Further lines of a value are indented more than names are.
  if (!take_prefix(line, "    ") || line.empty() || is_blank(line[0])) return;
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return;
  const std::string_view name = line.substr(0, equals);
  const std::string_view value = line.substr(equals + 1);
  if (name == kMessage && value.starts_with('[') && value.ends_with("B blob data]")) {
    entry_.unreadable = true;
    return;
  }
  set(name, value);
}

bool LogFormat::take_export_field(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) {
    if (rest.size() <= kMaxHeld) return false;
    // No text field is that long: what follows cannot be parsed either.
    ++unreadable_;
    rest = {};
    return false;
  }
  const std::string_view line = rest.substr(0, end);
  const std::size_t equals = line.find('=');
  if (line.empty() || equals != std::string_view::npos) {
    log_.count_lines(++lines_);
    rest.remove_prefix(end + 1);
    if (line.empty()) {
      end_entry();
    } else {
      set(line.substr(0, equals), line.substr(equals + 1));
    }
    return true;
  }
  // "NAME\n", the size in eight bytes, as many bytes, "\n".
  constexpr std::size_t kSize = 8;
  if (rest.size() < end + 1 + kSize) return false;
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    const auto byte = static_cast<unsigned char>(rest[end + 1 + i]);
    size |= static_cast<std::uint64_t>(byte) << (8 * i);
  }
  const std::string_view value = rest.substr(end + 1 + kSize);
  if (size < kMaxHeld && value.size() < size + 1) return false;
  log_.count_lines(++lines_);
  if (size < kMaxHeld) {
    set(line, value.substr(0, size));
    rest = value.substr(size + 1);
    return true;
  }
  entry_.unreadable = entry_.unreadable || line == kMessage;
  const std::size_t here = static_cast<std::size_t>(std::min<std::uint64_t>(value.size(), size));
  // The newline behind it reads as an entry's end, which costs the rest of this entry at most.
  skip_ = size - here;
  rest = value.substr(here);
  return true;
}

void LogFormat::set(std::string_view name, std::string_view value) {
  if (name == kMessage || name == "msg") {
    entry_.message = std::string(value);
    entry_.line = lines_;
  } else if (name == "_TRANSPORT") {
    entry_.transport = value;
  } else if (name == "SYSLOG_FACILITY") {
    entry_.facility = value;
  } else if (name == "_SOURCE_MONOTONIC_TIMESTAMP") {
    entry_.monotonic = value;
  } else if (name == "__REALTIME_TIMESTAMP") {
    entry_.realtime = value;
  } else if (name == "SYSLOG_IDENTIFIER") {
    entry_.identifier = value;
  } else if (name == "_SYSTEMD_UNIT") {
    entry_.unit = value;
  } else if (name == "_PID") {
    entry_.pid = value;
  } else if (name == "pri") {
    // dmesg: the syslog priority, or under --decode the level's name with "fac" beside it.
    entry_.transport = "kernel";
    if (const auto priority = parse_u64(value)) entry_.facility = std::to_string(*priority / 8);
  } else if (name == "fac") {
    entry_.facility = value == "kern" ? "0" : "1";
  } else if (name == "time") {
    entry_.time = unindented(value);
  }
}

void LogFormat::end_entry() {
  const Entry entry = std::exchange(entry_, {});
  if (!entry.message) {
    if (entry.unreadable) ++unreadable_;
    return;
  }
  ++messages_;
  LogLine line;
  line.text = *entry.message;
  line.number = entry.line;
  if (entry.transport == "kernel") {
    line.voice = entry.facility == "0" ? Voice::kKernel : Voice::kForeign;
    const auto us = parse_u64(entry.monotonic);
    if (us && *us / 1'000'000 < kLastSecond) line.stamp = std::chrono::microseconds(*us);
  } else if (!entry.transport.empty()) {
    line.voice = Voice::kProcess;
    line.unit = entry.unit.empty() ? entry.identifier : entry.unit;
    line.pid = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(parse_u64(entry.pid).value_or(0), UINT32_MAX));
  }
  std::string time = entry.time;
  const auto since_1970 = parse_u64(entry.realtime);
  if (time.empty() && since_1970 && *since_1970 < 9'000'000'000'000'000) {
    time = utc_time(std::chrono::microseconds(*since_1970));
  }
  log_.message(line, time);
}

using kernel_log::Soc;

// The names that --soc takes.
static std::vector<std::string_view> soc_names() {
  std::vector<std::string_view> names;
  for (const Soc soc :
       {Soc::kTegra210, Soc::kTegra186, Soc::kTegra194, Soc::kTegra234, Soc::kTegra264}) {
    names.push_back(kernel_log::soc_name(soc));
  }
  return names;
}

Result<Soc> soc_option(std::string_view name) {
  if (const auto soc = kernel_log::soc_named(name); soc && *soc != Soc::kUnknown) return *soc;
  const std::vector<std::string_view> names = soc_names();
  return fail(Errc::kInvalid, "unknown SoC '" + printable(name, 60) + "'" +
                                  did_you_mean(name, names) + "; known: " + join_names(names));
}

Result<std::string> feed_from(int fd, std::string_view path, kernel_log::TextLog& log,
                              const std::function<void(std::string_view)>& seen) {
  constexpr int kQuietMs = 1000;
  std::array<char, 64U << 10> buffer;
  LogFormat format(log);
  bool news = false;
  const auto not_read = [&](Error error) {
    return tl::unexpected(std::move(error).within(std::string(path)));
  };
  while (std::ferror(stdout) == 0) {
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, news ? kQuietMs : -1) == 0) {
      if (auto paused = format.pause(); !paused) return not_read(std::move(paused.error()));
      std::fflush(stdout);
      news = false;
      continue;
    }
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return tl::unexpected(errno_error("read", path, errno));
    if (n == 0) break;
    news = true;
    if (seen) seen({buffer.data(), static_cast<std::size_t>(n)});
    if (auto fed = format.feed({buffer.data(), static_cast<std::size_t>(n)}); !fed) {
      return not_read(std::move(fed.error()));
    }
  }
  if (auto end = format.finish(); !end) return not_read(std::move(end.error()));
  return format.omitted();
}

Result<UniqueFd> open_captured(const Root& root, const std::string& directory,
                               std::string_view path) {
  int error = 0;
  UniqueFd file = root.open_file(path, error);
  const std::string shown = printable(directory, 300) + std::string(path);
  if (file.valid()) return file;
  if (error == Root::kNotRegular) {
    return fail(Errc::kNotRegular, shown + ": not a regular file");
  }
  return tl::unexpected(errno_error("open", shown, error));
}

Result<DecodeInput> open_input(const std::string& root, const std::string& file,
                               std::string_view captured, const char* command) {
  if (!root.empty() && file.empty()) {
    const auto tree = Root::at(root);
    if (!tree) return tl::unexpected(Error(tree.error()).within("--root"));
    auto fd = open_captured(*tree, root, captured);
    if (!fd) return tl::unexpected(std::move(fd.error()));
    return DecodeInput{std::move(*fd), printable(root, 300) + std::string(captured)};
  }
  if (file.empty() || file == "-") {
    if (::isatty(STDIN_FILENO) == 1) {
      print_error("jetmem decode " + std::string(command) +
                  ": reading standard input; Ctrl-D ends it");
    }
    return DecodeInput{UniqueFd(::dup(STDIN_FILENO)), "standard input"};
  }
  std::string shown = printable(file, 300);
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return tl::unexpected(errno_error("open", shown, errno));
  return DecodeInput{std::move(fd), std::move(shown)};
}

}  // namespace jetmem
