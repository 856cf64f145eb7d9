// A kernel log in whatever a tool wrote it as: plain text, or the journal's own formats and JSON,
// whose messages are taken out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "collectors/kernel_log/text_log.h"

namespace jetmem {

class LogFormat {
 public:
  explicit LogFormat(kernel_log::TextLog& log) : log_(log) {}

  // Any part of the input. An error when it is no text that can be read.
  Result<void> feed(std::string_view bytes);
  // Nothing has come for a while: what is known so far is told.
  Result<void> pause();
  Result<void> finish();

  // What of the input was not understood; empty when all was.
  std::string left_out() const;

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
    bool unreadable = false;  // there is a message, in a form that tells nothing
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
  std::uint64_t skip_ = 0;  // bytes of a field that nobody wants
  Entry entry_;
  std::uint64_t lines_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t unreadable_ = 0;
};

}  // namespace jetmem
