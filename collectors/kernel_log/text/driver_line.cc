// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/text/driver_line.h"

#include <algorithm>

#include "collectors/kernel_log/text/line_parts.h"

namespace jetmem::kernel_log {
namespace {

bool is_alnum(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool has_digit(std::string_view text) { return std::any_of(text.begin(), text.end(), is_digit); }

// "vi_capture_setup", "__stmmac_open", "cdma_stop"
bool is_function(std::string_view text) {
  return text.size() > 2 && is_c_name(text) && !is_digit(text.front()) &&
         text.find('_') != std::string_view::npos;
}

// "13e00000.host1x", "0000:01:00.0", "mmc0", "video0", "bc00000.rtcpu:ivc-bus"
bool is_device(std::string_view text) { return has_digit(text) && is_kernel_name(text); }

bool is_module(std::string_view text) {
  return text.size() > 1 && text.size() <= 40 && std::all_of(text.begin(), text.end(), [](char c) {
           return is_alnum(c) || c == '_' || c == '-' || c == '.';
         });
}

bool same_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// Words in front of a colon that programs and people write, and no driver has for a name.
bool is_common_word(std::string_view text) {
  constexpr std::array<std::string_view, 22> kWords{
      "error", "warning", "warn",  "info",   "note",         "fatal",    "debug",   "failed",
      "input", "product", "cause", "hint",   "reason",       "err",      "message", "manufacturer",
      "log",   "usage",   "bug",   "status", "serialnumber", "traceback"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return same_letters(text, word); });
}

// "[drm:v3d_reset [v3d]] *ERROR* ", "[drm] *ERROR* ", "[drm] ", "[vc_sm_alloc]: "
bool take_mark(Scan& scan, DriverLine& line) {
  Scan ahead = scan;
  if (!ahead.literal("[")) return false;
  if (ahead.literal("drm:")) {
    if (!is_c_name(ahead.up_to(" ]"))) return false;
    if (ahead.literal(" [")) {
      line.driver = line.driver.empty() ? ahead.up_to("]") : line.driver;
      ahead.up_to("]");
      ahead.literal("]");
    }
    if (!ahead.literal("] ")) return false;
    ahead.literal("*ERROR* ");
    line.drm = true;
  } else if (ahead.literal("drm] ")) {
    ahead.literal("*ERROR* ");
    line.drm = true;
  } else {
    if (!is_function(ahead.up_to("] ")) || !ahead.literal("]")) return false;
    ahead.literal(":");
    if (!ahead.literal(" ")) return false;
  }
  scan = ahead;
  return true;
}

// "DRIVER DEVICE: ", "DRIVER DEVICE eth0: ", "MODULE: ".
bool take_first_head(Scan& scan, DriverLine& line) {
  constexpr std::size_t kMaxHead = 96;
  const std::string_view rest = scan.rest();
  const std::size_t end = rest.substr(0, kMaxHead).find(": ");
  if (end == std::string_view::npos) return false;
  const std::string_view head = rest.substr(0, end);
  const std::size_t blank = head.find(' ');
  line.driver = head.substr(0, blank);
  if (is_common_word(line.driver)) return false;
  if (blank == std::string_view::npos) {
    if (is_function(head) || has_digit(head) || !is_module(head)) return false;
  } else {
    line.dev = head.substr(blank + 1);
    // A network driver names its interface too.
    if (const std::size_t second = line.dev.find(' '); second != std::string_view::npos) {
      const std::string_view interface = line.dev.substr(second + 1);
      if (!is_kernel_name(interface) && !interface.starts_with("(unnamed")) return false;
      line.dev = line.dev.substr(0, second);
    }
    if (!is_kernel_name(line.driver) || !is_kernel_name(line.dev)) return false;
  }
  scan = Scan(rest.substr(end + 2));
  scan.blanks();
  return true;
}

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return same_letters(text, name); });
}

// "DRM", "RKNPU": a module's mark. A shout ("FAILED: ") and what a device calls itself are none.
bool is_module_mark(std::string_view text) {
  const auto in_mark = [](char c) { return (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_'; };
  return text.size() > 1 && !is_digit(text.front()) && !is_common_word(text) &&
         std::all_of(text.begin(), text.end(), in_mark) && !reports_failure(Words(text)) &&
         !is_any_of(text, {"oom", "timeout"});
}

// What drivers put behind their head: "FUNCTION: ", "FUNCTION:123 ", "FUNCTION() ",
// "ERROR: ", "comm-channel: ", their own name once more, their module's ("DRM: ").
bool take_next_head(Scan& scan, DriverLine& line) {
  if (take_mark(scan, line)) return true;
  Scan ahead = scan;
  const std::string_view name = ahead.up_to(": (");
  if (is_function(name)) {
    if (!ahead.literal("() ") && !ahead.literal("(): ") && !ahead.literal(": ")) {
      if (!ahead.literal(":")) return false;
      // Perhaps without a line: "vi_capture_reset:IVC capture ..."
      if (ahead.number()) ahead.literal(":");
    }
  } else if (!name.empty() && name.size() <= 20 && ahead.literal(": ") &&
             (is_any_of(name, {"error", "err", "warning", "warn"}) ||
              (!line.driver.empty() && same_letters(name, line.driver)) || is_module_mark(name) ||
              (name.find('-') != std::string_view::npos && is_module(name)) ||
              (line.dev.empty() && is_device(name)))) {
    if (line.dev.empty() && is_device(name)) line.dev = name;
  } else {
    return false;
  }
  ahead.blanks();
  scan = ahead;
  return true;
}

}  // namespace

DriverLine driver_line(std::string_view text) {
  DriverLine line;
  Scan scan(without_vendor_prefix(text));
  scan.blanks();
  if (!take_mark(scan, line) && !take_first_head(scan, line)) return {};
  constexpr int kMostHeads = 3;
  for (int i = 0; i < kMostHeads && take_next_head(scan, line); ++i) {
  }
  line.text = trim(scan.rest());
  return line;
}

Words::Words(std::string_view message) {
  message = message.substr(0, kMost);
  for (const char c : message) {
    bytes_[size_] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (size_ > 0) {
      const std::size_t pair = pair_of(bytes_[size_ - 1], bytes_[size_]);
      pairs_[pair / kBits] |= std::uint64_t{1} << pair % kBits;
    }
    ++size_;
  }
}

bool Words::has_any(std::initializer_list<std::string_view> parts) const {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return has(part); });
}

bool Words::has_word(std::string_view word) const {
  if (!may_have(word)) return false;
  const std::string_view all = text();
  for (std::size_t at = all.find(word); at != std::string_view::npos; at = all.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_alnum(all[at - 1])) && (end == all.size() || !is_alnum(all[end]))) {
      return true;
    }
  }
  return false;
}

bool Words::has_any_word(std::initializer_list<std::string_view> words) const {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return has_word(word); });
}

bool reports_failure(const Words& words) {
  return words.has_any({"fail",
                        "unable to",
                        "cannot ",
                        "can't ",
                        "can not ",
                        "could not ",
                        "couldn't ",
                        "no memory",
                        "no mem ",
                        "out of mem",
                        "not enough",
                        "no enough",
                        "enomem",
                        "insufficient",
                        "no space",
                        "error alloc",
                        "error mapping",
                        "exhausted",
                        "overflow",
                        "memory full",
                        "mapping error",
                        "map error",
                        "returned zero length",
                        "err mapping",
                        "error reserv",
                        "err reserv"}) ||
         words.has_any_word({"-12", "-enomem", "oom"});
}

bool is_driver(const DriverLine& line, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    if (line.driver.substr(0, name.size()) != name) return false;
    const char next = line.driver.size() > name.size() ? line.driver[name.size()] : '-';
    return next == '-' || next == '_' || is_digit(next);
  });
}

}  // namespace jetmem::kernel_log
