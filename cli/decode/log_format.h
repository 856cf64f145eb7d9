// SPDX-License-Identifier: Apache-2.0
// A kernel log in whatever a tool wrote it as: plain text, or the journal's own formats and JSON,
// whose messages are taken out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/root/root.h"
#include "cli/command.h"
#include "collectors/kernel_log/event/soc.h"
#include "collectors/kernel_log/text_log.h"

namespace jetmem {

class LogFormat {
 public:
  explicit LogFormat(kernel_log::TextLog& log) : log_(log) {}

  // Any part of the input. An error if it is not readable text.
  Result<void> feed(std::string_view bytes);
  // Input has paused: prints what is known so far.
  Result<void> pause();
  Result<void> finish();

  // Describes the input that was not understood; empty when all was.
  std::string omitted() const;

 private:
  enum class Kind : std::uint8_t {
    kUnknown,
    kPlain,
    kJson,     // journalctl -o json, dmesg --json
    kExport,   // journalctl -o export
    kVerbose,  // journalctl -o verbose
  };
  // What is used of an entry of the journal, or of an object.
  struct Entry {
    std::optional<std::string> message;
    std::string transport;
    std::string facility;
    std::string monotonic;  // microseconds on the log's clock
    std::string realtime;   // microseconds since 1970
    std::string time;       // as printed
    std::string identifier;
    std::string unit;
    std::string pid;
    std::uint64_t line = 0;
    bool unreadable = false;  // there is a message, in an unreadable form
  };

  static Kind kind_of(std::string_view head);
  Result<void> decide(bool at_end);
  void take(std::string_view bytes);
  void take_lines(bool at_end);
  void take_line(std::string_view line);
  void json_line(std::string_view line);
  void verbose_line(std::string_view line);
  // False when more bytes are needed.
  bool take_export_field(std::string_view& rest);
  void set(std::string_view name, std::string_view value);
  void end_entry();

  kernel_log::TextLog& log_;
  Kind kind_ = Kind::kUnknown;
  std::string held_;        // what no line's end has come of
  bool overlong_ = false;   // the line at hand was dropped
  std::uint64_t skip_ = 0;  // of a field to be skipped
  Entry entry_;
  std::uint64_t lines_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t unreadable_ = 0;
};

// Where the kernel log of a command comes from, and which SoC it is of.

// Errors name the nearest, and all.
Result<kernel_log::Soc> soc_option(std::string_view name);
// Feeds a descriptor to its end, or until standard output fails. After a second without input the
// events so far are printed. Returns what was not understood, if anything. `seen` gets the bytes as
// they are read.
Result<std::string> feed_from(int fd, std::string_view path, kernel_log::TextLog& log,
                              const std::function<void(std::string_view)>& seen = {});
// The input of a decode command: `file`, where "-" is standard input; without one below `root` the
// captured file, else standard input, with a note on a terminal.
struct DecodeInput {
  UniqueFd fd;
  std::string path;  // for messages
};
Result<DecodeInput> open_input(const std::string& root, const std::string& file,
                               std::string_view captured, const char* command);
// The formats of `jetmem decode`: each is a command of its own below it.
void add_decode_kernel_log(const Command& decode);
void add_decode_tegrastats(const Command& decode);

// A file of a captured root: DIR/dev/kmsg. Errors name it as the user finds it.
Result<UniqueFd> open_captured(const Root& root, const std::string& directory,
                               std::string_view path = "/dev/kmsg");

}  // namespace jetmem
