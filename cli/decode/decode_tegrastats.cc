// SPDX-License-Identifier: Apache-2.0
// jetmem decode tegrastats: explains each line that tegrastats printed, as it comes.

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/text/plain_text.h"
#include "base/text/text.h"
#include "cli/command.h"
#include "cli/decode/log_format.h"
#include "cli/decode/tegrastats_text.h"
#include "cli/exit_codes.h"
#include "cli/text/events/event_text.h"

namespace jetmem {
namespace {

constexpr std::string_view kCaptured = "/jetmem/tegrastats";
// Of one line. A line of tegrastats has some hundreds of bytes.
constexpr std::size_t kMaxLine = 64U << 10;

struct TegrastatsOptions : Target {
  std::string file;
};

void log_message(const std::string& text) { warn("decode tegrastats", text); }

// "> ", "// ", of quoted mail and of comments.
std::string_view without_marks(std::string_view text) {
  for (skip_blanks(text); take_prefix(text, ">") || take_prefix(text, "//");) skip_blanks(text);
  return text;
}

// Cuts the input into lines and prints each; lines of one sample that a narrow page wrapped, as
// one.
class TegrastatsExplainer {
 public:
  explicit TegrastatsExplainer(bool json) : json_(json) {}

  void feed(std::string_view bytes) {
    // UTF-16, as PowerShell writes it: of ASCII every other byte is 0.
    if (is_first_ && (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff"))) {
      is_utf16_ = true;
      bytes.remove_prefix(2);
    }
    is_first_ = false;
    std::string narrow;
    if (is_utf16_) {
      narrow = bytes;
      std::erase(narrow, '\0');
      bytes = narrow;
    }
    while (!bytes.empty()) {
      // A terminal's lines end in "\r\n", some files' in "\r".
      if (std::exchange(is_after_return_, false) && take_prefix(bytes, "\n")) continue;
      const std::size_t end = bytes.find_first_of("\r\n");
      hold(bytes.substr(0, end));
      if (end == std::string_view::npos) return;
      is_after_return_ = bytes[end] == '\r';
      bytes.remove_prefix(end + 1);
      take_line();
    }
  }

  void finish() {
    const bool ended = held_.empty() && !overlong_;
    if (!ended) take_line();
    end_sample();
    if (!json_) {
      put("\n" + text_.summary());
    }
    if (cut_ > 0) {
      log_message(counted(cut_, "line") + " longer than 64 KiB, truncated");
    }
    if (!ended) log_message("the last line is incomplete: its last word may be truncated");
  }

  // Whether a sample waits for a further line of it.
  bool is_holding() const { return !sample_.empty(); }
  void end_sample() {
    if (!sample_.empty()) print(sample_line_, sample_number_, false);
    sample_.clear();
  }

 private:
  void hold(std::string_view bytes) {
    const std::size_t room = kMaxLine - held_.size();
    overlong_ = overlong_ || bytes.size() > room;
    held_.append(bytes.substr(0, room));
  }

  void take_line() {
    ++number_;
    if (overlong_) {
      ++cut_;
      // A number that was cut in two says something else. One word alone is none.
      const std::size_t end = held_.find_last_of(" \t");
      if (end != std::string::npos) held_.resize(end);
    }
    std::string_view text = without_marks(make_plain(held_, plain_) ? plain_ : held_);
    do {
      take_sample(take_tegrastats_sample(text));
    } while (!text.empty());
    held_.clear();
    overlong_ = false;
  }

  void take_sample(std::string_view text) {
    parse_tegrastats_line(text, line_);
    if (joins_sample(text)) return;
    end_sample();
    if (line_.ram && !overlong_) {
      sample_.assign(text);
      sample_line_ = line_;
      sample_number_ = number_;
    } else {
      print(line_, number_, overlong_);
    }
  }

  // A sample begins with its time or RAM. What follows belongs to it if it has no field twice.
  bool joins_sample(std::string_view text) {
    if (sample_.empty() || overlong_ || line_.fields == 0 || line_.ram || !line_.time.empty() ||
        sample_.size() + text.size() >= kMaxLine) {
      return false;
    }
    // Each join reads the sample again; no page makes more of a line.
    constexpr std::uint64_t kMostJoined = 16;
    if (number_ - sample_number_ >= kMostJoined) return false;
    const std::size_t size = sample_.size();
    sample_.append(" ").append(text);
    parse_tegrastats_line(sample_, joined_);
    const bool is_one = joined_.fields == sample_line_.fields + line_.fields;
    if (is_one) sample_line_ = joined_;
    if (is_one) text_.goes_on();
    if (!is_one) sample_.resize(size);
    return is_one;
  }

  void print(const TegrastatsLine& line, std::uint64_t number, bool cut) {
    if (!json_) {
      put(text_.block(line, number));
      return;
    }
    nlohmann::ordered_json json = tegrastats_json(line);
    if (cut) json["cut"] = true;
    put(one_line(json) + "\n");
  }

  bool json_;
  TegrastatsText text_;
  TegrastatsLine line_;
  std::string sample_;  // that the next line may go on with
  TegrastatsLine sample_line_;
  TegrastatsLine joined_;
  std::uint64_t sample_number_ = 0;
  std::string held_;  // what no line's end has come of
  std::string plain_;
  bool overlong_ = false;
  bool is_first_ = true;
  bool is_utf16_ = false;
  bool is_after_return_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t cut_ = 0;
};

// Reads to the end of the input, or until standard output fails. Each sample is printed before the
// next is awaited: lines that a page wrapped come all at once.
Result<void> explain(int fd, std::string_view path, TegrastatsExplainer& explainer) {
  std::array<char, 16U << 10> buffer;
  while (std::ferror(stdout) == 0) {
    // Standard input may be one that does not block.
    pollfd ready{fd, POLLIN, 0};
    constexpr int kPauseMs = 50;
    if (::poll(&ready, 1, explainer.is_holding() ? kPauseMs : -1) == 0) {
      explainer.end_sample();
      std::fflush(stdout);
      continue;
    }
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return tl::unexpected(errno_error("read", path, errno));
    if (n == 0) break;
    explainer.feed({buffer.data(), static_cast<std::size_t>(n)});
    std::fflush(stdout);
  }
  explainer.finish();
  return {};
}

int run_decode_tegrastats(const TegrastatsOptions& options) {
  const auto input = open_input(options.root, options.file, kCaptured, "tegrastats");
  if (!input) return failed("decode tegrastats", input.error());
  TegrastatsExplainer explainer(options.json);
  const auto read = explain(input->fd.get(), input->path, explainer);
  if (!read) return failed("decode tegrastats", read.error());
  return kExitOk;
}

}  // namespace

void add_decode_tegrastats(const Command& decode) {
  const Command command = decode.add(
      "tegrastats", "Explain lines of NVIDIA's tegrastats, from TK1 to Thor, as they come");
  auto& options = command.runs(run_decode_tegrastats);
  command.option("FILE", options.file, "", "Its output; - or nothing: standard input");
  command.json("One JSON object for each line, nothing else");
  command.footer(
      "Live: sudo tegrastats | jetmem decode tegrastats\n"
      "Takes lines of any release, with or without root; unknown words are shown unchanged. --root "
      "DIR reads DIR/jetmem/tegrastats, unless a FILE is given.\n"
      "\n"
      "Members of --json, each omitted if the line lacks it: time (as printed), ram, swap, iram, "
      "cpu (null: core off), emc, gr3d (mhz: a list, a clock for each GPC), gr3d2, engines "
      "(\"off\", or percent and mhz; names as printed, without _FREQ), mts, edp_limit_mhz, "
      "temperatures (powered-off sensors are omitted), temperatures_max, rails, and always "
      "unknown: the unknown words. A percentage without a clock is as printed and has quality: "
      "unknown; an EMC of 0% so marked could not be read: it is not idle.");
  command.exit_status("0 if the input was read, whatever is in it");
}

}  // namespace jetmem
