// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/line/prefix.h"

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/text/text.h"
#include "collectors/kernel_log/line/scan.h"

namespace jetmem::kernel_log {
namespace {

using std::chrono::microseconds;

constexpr std::array<std::string_view, 24> kFacilities{
    "kern",   "user",   "mail",     "daemon", "auth",   "syslog", "lpr",    "news",
    "uucp",   "cron",   "authpriv", "ftp",    "res0",   "res1",   "res2",   "res3",
    "local0", "local1", "local2",   "local3", "local4", "local5", "local6", "local7"};
constexpr std::array<std::string_view, 8> kLevels{"emerg", "alert",  "crit", "err",
                                                  "warn",  "notice", "info", "debug"};

// As util-linux and BusyBox write them, or in full.
std::optional<std::uint8_t> level_named(std::string_view word) {
  const auto* const at = std::find(kLevels.begin(), kLevels.end(),
                                   word == "warning" ? "warn"
                                   : word == "error" ? "err"
                                                     : word);
  if (at == kLevels.end()) return std::nullopt;
  return static_cast<std::uint8_t>(at - kLevels.begin());
}

constexpr std::array<std::string_view, 15> kUpperLevels{
    "EMERG",   "PANIC",  "ALERT", "CRIT",  "CRITICAL", "ERR",  "ERROR", "WARN",
    "WARNING", "NOTICE", "INFO",  "DEBUG", "FATAL",    "KERN", "LOG"};

template <class List>
bool is_in(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Who prints under this name. The programs are jetmem, jetmemd and jetmem-*.
Voice voice_of(std::string_view ident) {
  if (ident == "kernel") return Voice::kKernel;
  const bool ours = ident == "jetmem" || ident == "jetmemd" || ident.starts_with("jetmem-");
  return ours ? Voice::kJetmem : Voice::kProcess;
}

std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool two_digits(std::string_view text, std::size_t at) {
  return at + 1 < text.size() && is_digit(text[at]) && is_digit(text[at + 1]);
}

// The length of "16:36:36" or "16:36:36.123456" at the front; 0 when there is none.
std::size_t time_of_day(std::string_view text) {
  if (text.size() < 8 || !two_digits(text, 0) || text[2] != ':' || !two_digits(text, 3) ||
      text[5] != ':' || !two_digits(text, 6) || text[0] > '2') {
    return 0;
  }
  std::size_t n = 8;
  if (n + 1 < text.size() && (text[n] == '.' || text[n] == ',' || text[n] == ':') &&
      is_digit(text[n + 1])) {
    ++n;
    while (n < text.size() && is_digit(text[n])) ++n;
  }
  return n < text.size() && is_digit(text[n]) ? 0 : n;
}

// "2026-11-20" at the front.
bool is_iso_date(std::string_view text) {
  return text.size() >= 10 && two_digits(text, 0) && two_digits(text, 2) && text[4] == '-' &&
         two_digits(text, 5) && text[7] == '-' && two_digits(text, 8);
}

// Whether a bracket holds a date: a time of day as a word of its own, or "Nov20 18:53".
bool holds_date(std::string_view inside) {
  for (std::size_t at = inside.find(':'); at != std::string_view::npos;
       at = inside.find(':', at + 1)) {
    if (at < 2 || !two_digits(inside, at - 2) || !two_digits(inside, at + 1)) continue;
    const bool fresh = at == 2 || is_blank(inside[at - 3]) || inside[at - 3] == 'T';
    if (!fresh) continue;
    if (time_of_day(inside.substr(at - 2)) > 0) return true;
    if (at > 2 && at + 3 == inside.size()) return true;
  }
  return false;
}

// "12.345678" at the front, as microseconds.
std::optional<microseconds> take_seconds(std::string_view& text) {
  std::string_view rest = text;
  if (rest.empty() || !is_digit(rest.front())) return std::nullopt;
  const auto seconds = take_u64(rest);
  // Some languages print a comma.
  if (!seconds || *seconds > kLastSecond) return std::nullopt;
  const bool comma = take_prefix(rest, ",");
  if (!comma && !take_prefix(rest, ".")) return std::nullopt;
  std::int64_t fraction = 0;
  std::size_t digits = 0;
  while (digits < rest.size() && is_digit(rest[digits])) {
    if (digits < 6) fraction = fraction * 10 + (rest[digits] - '0');
    ++digits;
  }
  // "[1,2]" is a list.
  if (digits < (comma ? 3U : 1U) || digits > 9) return std::nullopt;
  for (std::size_t i = digits; i < 6; ++i) fraction *= 10;
  rest.remove_prefix(digits);
  text = rest;
  return microseconds(static_cast<std::int64_t>(*seconds) * 1'000'000 + fraction);
}

// What may follow the seconds within the bracket: "@0", ",2", " c0", " <    0.000462>".
bool is_stamp_tail(std::string_view tail) {
  return tail.size() <= 24 && tail.find_first_not_of(" @,.<>+-cC0123456789") == std::string::npos;
}

// "T1234", "C0": who printed it.
bool is_caller(std::string_view inside) {
  if (inside.size() < 2 || (inside[0] != 'T' && inside[0] != 'C')) return false;
  return inside.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

// "2:   Binder:711_1:  740": CPU, a name padded to 15, a PID padded to 5.
// Others print "pid:134,cpu0,irq/13-arm-smmu".
bool is_vendor_caller(std::string_view inside) {
  if (inside.starts_with("pid:")) {
    const std::size_t end = inside.find_first_not_of("0123456789", 4);
    return end != std::string_view::npos && end > 4 && inside.substr(end).starts_with(",cpu");
  }
  const std::size_t first = inside.find(':');
  const std::size_t last = inside.rfind(':');
  if (first == std::string_view::npos || first == 0 || first > 3 || last < first + 15) return false;
  if (!std::all_of(inside.begin(), inside.begin() + static_cast<std::ptrdiff_t>(first), is_digit)) {
    return false;
  }
  const std::string_view pid = trim_blanks(inside.substr(last + 1));
  return inside.size() - last > 5 && !pid.empty() && std::all_of(pid.begin(), pid.end(), is_digit);
}

// "+0.000462", "<    0.000462>": since the line before.
bool is_delta(std::string_view inside) {
  if (inside.empty() || (inside[0] != '+' && inside[0] != '<')) return false;
  inside.remove_prefix(1);
  inside = trim_blanks(inside);
  if (!take_seconds(inside)) return false;
  return inside.empty() || inside == ">";
}

// "UTC", "+0100", "PM": between a time and the host.
bool is_zone(std::string_view word) {
  if (word.empty() || word.size() > 6) return false;
  if (word[0] == '+' || word[0] == '-') return word.size() >= 3 && is_digit(word[1]);
  return word.size() >= 2 && word.size() <= 5 &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string_view word_at(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && !is_blank(text[n])) ++n;
  return text.substr(0, n);
}

}  // namespace

bool is_kernel_stamp(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  const std::size_t close = text.substr(0, kLongest).find(']');
  if (close == std::string_view::npos || text[0] != '[') return false;
  const std::string_view inside = text.substr(1, close - 1);
  std::string_view tail = trim_blanks(inside);
  if (take_seconds(tail)) {
    const std::size_t point = std::min(inside.find_first_of(".,"), inside.size());
    const bool padded = is_blank(inside[0]) || point >= 5;
    const bool micros = inside.size() - tail.size() == point + 7;
    return (padded || micros) && is_stamp_tail(tail);
  }
  constexpr std::size_t kYear = 4;
  if (inside.size() < 20 || !holds_date(inside)) return false;
  const std::string_view year = inside.substr(inside.size() - kYear);
  return std::all_of(year.begin(), year.end(), is_digit);
}

void Prefix::take_all() {
  // No line has more than a few; the bound is for lines made to have thousands.
  for (int i = 0; i < 12 && !rest_.empty() && !process_; ++i) {
    const std::string_view before = rest_;
    // A further group may stand behind blanks; otherwise they are the message's.
    skip_blanks(rest_);
    if (rest_.empty()) {
      rest_ = before;
      return;
    }
    bool taken = false;
    switch (rest_.front()) {
      case '[':
        taken = take_bracket() || take_unknown_words();
        break;
      case '<':
        taken = take_priority();
        break;
      default:
        taken = (i == 0 && (take_trace() || take_line_number() || take_cut_bracket() ||
                            take_time_of_day() || take_bare_ident() || take_host_of_kernel())) ||
                // No message of the kernel's own begins with its name in lower case.
                ((voice_ == Voice::kKernel || stamp_) && take_bare_ident()) || take_vendor_cpu() ||
                take_facility() || take_level() || take_date() || take_host_of_monotonic() ||
                take_unknown_words();
    }
    if (!taken) {
      rest_ = before;
      return;
    }
  }
}

void Prefix::received(Voice voice) {
  // A process' text never becomes the kernel's by what it says.
  if (voice_ == Voice::kUnknown || voice != Voice::kKernel) voice_ = voice;
  process_ = process_ || is_process(voice);
}

void Prefix::timed(std::string_view text) {
  if (time_text_.empty()) time_text_ = trim_blanks(text);
}

bool Prefix::take_priority() {
  std::string_view rest = rest_.substr(1);
  if (rest.empty() || !is_digit(rest.front())) return false;
  const auto priority = take_u64(rest);
  if (!priority || *priority > 2047 || !take_prefix(rest, ">")) return false;
  received(*priority < 8 ? Voice::kKernel : Voice::kForeign);
  if (*priority < 8) level_ = static_cast<std::uint8_t>(*priority);
  rest_ = rest;
  take_version_5424();
  return true;
}

bool Prefix::take_facility() {
  const std::size_t first = rest_.substr(0, 10).find(':');
  if (first == std::string_view::npos) return false;
  const std::size_t second = rest_.substr(0, first + 12).find(':', first + 1);
  if (second == std::string_view::npos) return false;
  const std::string_view facility = trim_blanks(rest_.substr(0, first));
  const auto level = level_named(trim_blanks(rest_.substr(first + 1, second - first - 1)));
  if (!is_in(kFacilities, facility) || !level) return false;
  received(facility == "kern" ? Voice::kKernel : Voice::kForeign);
  if (facility == "kern") level_ = level;
  rest_.remove_prefix(second + 1);
  end_of_prefix();
  return true;
}

bool Prefix::take_bracket() {
  constexpr std::size_t kLongest = 64;
  std::size_t close = rest_.substr(0, kLongest).find(']');
  if (close == std::string_view::npos) return false;
  const std::string_view inside = trim_blanks(rest_.substr(1, close - 1));
  std::string_view tail = inside;
  bool may_pad = false;
  // "2-3219.1870": some kernels print the CPU first.
  if (const std::size_t dash = tail.find('-'); dash == 1 && is_digit(tail[0])) {
    const std::string_view seconds = tail.substr(2);
    const std::size_t point = seconds.find('.');
    if (point != std::string_view::npos && seconds.size() >= point + 5) tail = seconds;
  }
  // Of several the last is the kernel's: a program that reads a console puts its own in front.
  if (const auto seconds = take_seconds(tail); seconds && is_stamp_tail(tail)) {
    stamp_ = seconds;
    timed(inside.substr(0, inside.size() - tail.size()));
    may_pad = tail.starts_with("@");
  } else if (is_delta(inside) || holds_date(inside)) {
    timed(inside);
    // "[2026-11-20T18:53:17.913Z]: "
    if (rest_.substr(close + 1).starts_with(": ")) ++close;
  } else if (is_caller(inside) && stamp_) {
    may_pad = true;
  } else if (!is_caller(inside) && !is_vendor_caller(rest_.substr(1, close - 1))) {
    return false;
  }
  rest_.remove_prefix(close + 1);
  end_of_prefix();
  // Kernels that print a CPU or a caller may print two blanks.
  if (may_pad && !rest_.starts_with("  ")) end_of_prefix();
  return true;
}

bool Prefix::take_trace() {
  Scan scan(rest_);
  if (rest_.substr(0, 2) != "0x" || !scan.hex()) return false;
  scan.blanks();
  if (!scan.literal("|")) return false;
  scan.blanks();
  std::string_view rest = scan.rest();
  const std::string_view begin = rest;
  const auto seconds = take_seconds(rest);
  if (!seconds) return false;
  const std::string_view printed = begin.substr(0, begin.size() - rest.size());
  if (!take_prefix(rest, ":")) return false;
  skip_blanks(rest);
  stamp_ = seconds;
  timed(printed);
  rest_ = rest;
  return true;
}

// What grep and editors put before a line: "17:", "dmesg.txt:17:", "dmesg.txt:", "  17  ". Only in
// front of a stamp, since a message may begin so too.
bool Prefix::take_line_number() {
  const std::string_view start = rest_;
  const std::size_t end = start.substr(0, 120).find_first_of("[<");
  if (end == std::string_view::npos || end == 0) return false;
  std::string_view head = start.substr(0, end);
  const bool colon = trim_blanks(head).back() == ':';
  while (!head.empty() && (is_blank(head.back()) || head.back() == ':' || head.back() == '|')) {
    head.remove_suffix(1);
  }
  const std::size_t digits = head.find_last_not_of("0123456789");
  const std::string_view file =
      digits == std::string_view::npos ? std::string_view() : head.substr(0, digits + 1);
  const bool number = digits + 1 < head.size() || digits == std::string_view::npos;
  const bool named = file.find('.') != std::string_view::npos && colon;
  if (head.empty() || file.find_first_of(" \t") != std::string_view::npos) return false;
  if (!(number && (file.empty() || (file.back() == ':' && named))) && !named) return false;
  rest_ = start.substr(end);
  if (rest_.front() == '[' ? take_bracket() : take_priority()) return true;
  rest_ = start;
  return false;
}

// "0.125464] ": the stamp was cut off at its beginning.
bool Prefix::take_cut_bracket() {
  std::string_view rest = rest_;
  const std::string_view begin = rest;
  if (!is_digit(rest.front())) return false;
  const auto seconds = take_seconds(rest);
  if (!seconds && !take_u64(rest)) return false;
  const std::string_view printed = begin.substr(0, begin.size() - rest.size());
  if (!take_prefix(rest, "] ")) return false;
  // Of "345678]" nobody knows the second; of "0.125464]" the first digits may be missing too, so it
  // is shown and not counted with.
  timed(printed);
  rest_ = rest;
  return true;
}

// Whatever else collectors of logs put in front of the kernel's stamp: "vcpu-5 - Guest: ",
// "stdout F ", "c2   1234 ", "+". A message of the kernel or of a process, which may quote a stamp,
// has a ": " before it; so these have none, but VMware's and a console's prompt "orin login: ".
// What begins with a bracket is a shell's prompt, "[root@orin ~]# ".
bool Prefix::take_unknown_words() {
  constexpr std::size_t kLongest = 80;
  if (stamp_ || voice_ != Voice::kUnknown) return false;
  const std::string_view head = rest_.substr(0, kLongest);
  for (std::size_t at = head.find('['); at != std::string_view::npos; at = head.find('[', at + 1)) {
    if (!is_kernel_stamp(rest_.substr(at))) continue;
    std::size_t end = at;
    if (end >= 3 && rest_[end - 1] == '>' && is_digit(rest_[end - 2])) {
      end = std::min(rest_.substr(0, end).rfind('<'), end);
    }
    std::string_view before = rest_.substr(0, end);
    for (const std::string_view known : {" - Guest: ", " login: "}) {
      if (before.ends_with(known)) before.remove_suffix(known.size());
    }
    if (before.find(": ") != std::string_view::npos) return false;
    if (before.starts_with("[") && !before.ends_with("]# ") && !before.ends_with("]$ "))
      return false;
    rest_.remove_prefix(end);
    return true;
  }
  return false;
}

// "18:53:17.778 [   71.250000] ", "18:53:17 host kernel: ", "18:53:17 ": no message begins so.
bool Prefix::take_time_of_day() {
  const std::size_t size = time_of_day(rest_);
  std::string_view rest = rest_.substr(size);
  if (size == 0 || rest.empty() || !is_blank(rest.front())) return false;
  skip_blanks(rest);
  if (rest.empty()) return false;
  timed(rest_.substr(0, size));
  rest_ = rest;
  // "DRIVER DEVICE: " looks like a host and a program.
  static_cast<void>(take_bare_ident() || take_host_and_ident(true, true));
  return true;
}

// "host kernel: "
bool Prefix::take_host_of_kernel() {
  const std::string_view host = word_at(rest_);
  const bool is_host = std::all_of(host.begin(), host.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.';
  });
  std::string_view rest = rest_.substr(host.size());
  skip_blanks(rest);
  if (!is_host || !rest.starts_with("kernel: ")) return false;
  rest_ = rest;
  return take_bare_ident();
}

// Behind "<4>": "1 2026-11-20T18:53:17.003Z orin kernel - - - " (RFC 5424).
bool Prefix::take_version_5424() {
  std::string_view rest = rest_;
  if (!take_prefix(rest, "1 ")) return false;
  const std::string_view time = word_at(rest);
  if (time != "-" && !(is_iso_date(time) && time.size() > 10 && time[10] == 'T')) return false;
  rest.remove_prefix(time.size());
  std::array<std::string_view, 4> words;  // host, program, process, message's kind
  for (std::string_view& word : words) {
    skip_blanks(rest);
    word = word_at(rest);
    if (word.empty()) return false;
    rest.remove_prefix(word.size());
  }
  skip_blanks(rest);
  if (!take_prefix(rest, "-")) {
    const std::size_t close = rest.find("] ");
    if (rest.empty() || rest.front() != '[' || close == std::string_view::npos) return false;
    rest.remove_prefix(close + 1);
  }
  if (time != "-") timed(time);
  received(voice_of(words[1]));
  rest_ = rest;
  end_of_prefix();
  return true;
}

bool Prefix::take_vendor_cpu() {
  // Behind a stamp only: no message of the kernel's own has this there.
  if (!stamp_) return false;
  std::string_view rest = rest_;
  // "I[7:      swapper/0:    1] ", of Samsung's kernels, printed in an interrupt
  if (rest.starts_with("I[")) {
    rest.remove_prefix(1);
    const std::size_t close = rest.substr(0, 64).find(']');
    if (close == std::string_view::npos || !is_vendor_caller(rest.substr(1, close - 1))) {
      return false;
    }
    rest_ = rest.substr(close + 1);
    end_of_prefix();
    return true;
  }
  take_prefix(rest, "-");  // interrupts are off
  if (!take_prefix(rest, "(") || !is_digit(rest.empty() ? ' ' : rest[0]) || !take_u64(rest) ||
      !take_prefix(rest, ")") || rest.empty() || is_blank(rest[0])) {
    return false;
  }
  if (rest[0] != '[') {
    rest_ = rest;
    return true;
  }
  rest.remove_prefix(1);
  const std::size_t close = rest.substr(0, 40).find(']');
  if (close == std::string_view::npos || !take_u64(rest) || rest.empty() || rest[0] != ':') {
    return false;
  }
  rest_ = rest_.substr(rest_.find(']') + 1);
  end_of_prefix();
  return true;
}

bool Prefix::take_bare_ident() {
  // A terminal to which syslog writes gets "kernel:[   71.250000] ", or "kernel:message".
  if (!rest_.starts_with("kernel:") || rest_.size() == 7) return false;
  rest_.remove_prefix(7);
  end_of_prefix();
  received(Voice::kKernel);
  return true;
}

bool Prefix::take_level() {
  if (rest_.front() < 'A' || rest_.front() > 'Z') return false;
  const std::string_view word = word_at(rest_);
  if (word.size() < 3 || word.size() > 8 || !is_in(kUpperLevels, word)) return false;
  std::string_view rest = rest_.substr(word.size());
  skip_blanks(rest);
  if (!take_prefix(rest, "kernel: ")) return false;
  received(Voice::kKernel);
  rest_ = rest;
  return true;
}

bool Prefix::take_date() {
  if (stamp_) return false;
  const std::string_view start = rest_;
  // journalctl -o short-unix: "1790000000.123456 host kernel: ".
  std::string_view rest = start;
  if (const auto unix_time = take_seconds(rest);
      unix_time && !rest.empty() && rest[0] == ' ' && unix_time->count() > 100'000'000'000'000) {
    const std::string_view printed = start.substr(0, start.size() - rest.size());
    rest_ = rest.substr(1);
    if (take_host_and_ident(true, false)) {
      timed(printed);
      return true;
    }
    rest_ = start;
    return false;
  }
  if (is_iso_date(start) && start.size() > 10 && start[10] == 'T' &&
      time_of_day(start.substr(11)) > 0) {
    const std::string_view printed = word_at(start);
    timed(printed);
    rest_.remove_prefix(printed.size());
    skip_blanks(rest_);
    // `dmesg --time-format iso` names no host, and has a comma where journals have a point.
    if (printed.find(',') == std::string_view::npos) take_host_and_ident(false, false);
    return true;
  }
  // Month and day in whatever language and order, perhaps a weekday and a year, then the time.
  std::size_t at = 0;
  for (int words = 0; words < 5; ++words) {
    const std::string_view word = word_at(start.substr(at));
    if (word.empty() || word.size() > 24) return false;
    if (const std::size_t size = time_of_day(word); size > 0) {
      const std::string_view behind = word.substr(size);
      if (words == 0 || (!behind.empty() && !is_zone(behind))) return false;
      std::size_t end = at + word.size();
      rest = start.substr(end);
      skip_blanks(rest);
      rest_ = rest;
      if (take_columns()) {
        timed(start.substr(0, end));
        return true;
      }
      // A zone, and in some formats the year.
      for (int i = 0; i < 2; ++i) {
        const std::string_view next = word_at(rest);
        const bool year = next.size() == 4 && std::all_of(next.begin(), next.end(), is_digit);
        if (!year && !is_zone(next)) break;
        std::string_view further = rest.substr(next.size());
        skip_blanks(further);
        // A host may look like a zone; then its ident stands right behind it.
        rest_ = rest;
        if (!year && take_host_and_ident(true, false)) {
          timed(start.substr(0, end));
          return true;
        }
        rest = further;
        end = static_cast<std::size_t>(further.data() - start.data());
      }
      rest_ = rest;
      // Loggers that print microseconds often name nobody.
      const bool iso = is_iso_date(start) && words == 1;
      const bool sure = iso && word.size() > 8;
      const bool named = (sure && take_bare_ident()) || take_host_and_ident(sure, sure) ||
                         take_prefix(rest_, ": ");
      if (!named && !iso && (rest.empty() || (rest[0] != '[' && rest[0] != '<'))) {
        rest_ = start;
        return false;
      }
      timed(start.substr(0, end));
      return true;
    }
    if (word.find(':') != std::string_view::npos) return false;
    at += word.size();
    while (at < start.size() && is_blank(start[at])) ++at;
  }
  return false;
}

// "    0     0 W ": process, thread and level, as Android's loggers print them.
bool Prefix::take_columns() {
  std::string_view rest = rest_;
  const std::string_view process = take_word(rest);
  const std::string_view thread = take_word(rest);
  const std::string_view level = take_word(rest);
  const auto is_number = [](std::string_view word) {
    return !word.empty() && std::all_of(word.begin(), word.end(), is_digit);
  };
  if (!is_number(process) || !is_number(thread) || level.size() != 1 ||
      std::string_view("VDIWEF").find(level) == std::string_view::npos) {
    return false;
  }
  received(process == "0" ? Voice::kKernel : Voice::kProcess);
  rest_ = rest;
  end_of_prefix();
  return true;
}

bool Prefix::take_host_of_monotonic() {
  if ((!stamp_ && time_text_.empty()) || voice_ != Voice::kUnknown) return false;
  // Behind a stamp or date of dmesg's shape most text is the kernel's own: only "host kernel: " and
  // "host program[812]: " are sure to be journalctl's.
  return take_host_and_ident(true, true);
}

bool Prefix::take_host_and_ident(bool host_needed, bool pid_needed) {
  std::string_view rest = rest_;
  std::string_view word = word_at(rest);
  if (word.empty()) return false;
  if (word.back() != ':') {
    const auto is_no_host = [](char c) { return c == ':' || c == '[' || c == ']' || c == '='; };
    if (word.size() > 255 || std::any_of(word.begin(), word.end(), is_no_host)) return false;
    rest.remove_prefix(word.size());
    skip_blanks(rest);
    word = word_at(rest);
    // BusyBox puts "kern.warn" between host and ident.
    const std::size_t dot = std::min(word.find('.'), word.size());
    if (is_in(kFacilities, word.substr(0, dot)) && word.back() != ':') {
      const std::string_view facility = word.substr(0, dot);
      rest.remove_prefix(word.size());
      skip_blanks(rest);
      word = word_at(rest);
      // A C library refuses its klogd the kernel's facility and sends the user's.
      const bool klogd = facility == "user" && word == "kernel:";
      if (facility != "kern" && !klogd) received(Voice::kForeign);
    }
  } else if (host_needed) {
    return false;
  }
  if (word.size() < 2 || word.back() != ':') return false;
  rest.remove_prefix(word.size());
  word.remove_suffix(1);
  bool has_pid = false;
  if (word.back() == ']') {
    const std::size_t open = word.rfind('[');
    if (open == std::string_view::npos || open == 0 || open + 2 > word.size() - 1) return false;
    const std::string_view pid = word.substr(open + 1, word.size() - open - 2);
    if (!std::all_of(pid.begin(), pid.end(), is_digit)) return false;
    word = word.substr(0, open);
    has_pid = true;
  }
  const Voice voice = voice_of(word);
  if (pid_needed && voice != Voice::kKernel && !has_pid) return false;
  received(voice);
  rest_ = rest;
  end_of_prefix();
  return true;
}

}  // namespace jetmem::kernel_log
