// jetmem decode tegrastats: explains each line that tegrastats printed, as it comes.

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "cli/decode.h"
#include "cli/event_text.h"
#include "cli/exit_codes.h"
#include "cli/log_input.h"
#include "cli/tegrastats_json.h"
#include "cli/tegrastats_text.h"

namespace jetmem {
namespace {

constexpr std::string_view kCaptured = "/jetmem/tegrastats";
// Of one line. A line of tegrastats has some hundreds of bytes.
constexpr std::size_t kMaxLine = 64U << 10;

struct DecodeOptions {
  std::string file;
  bool json = false;
};

void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void say(const std::string& text) {
  std::fprintf(stderr, "jetmem decode tegrastats: %s\n", text.c_str());
}

// Cuts the input into lines and prints each.
class Explainer {
 public:
  explicit Explainer(bool json) : json_(json) {}

  void feed(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      hold(bytes.substr(0, end));
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      take_line();
    }
  }

  void finish() {
    const bool ended = held_.empty() && !overlong_;
    if (!ended) take_line();
    if (!json_) {
      put("\n" + text_.summary());
    }
    if (cut_ > 0) {
      say(counted(cut_, "line") + " longer than 64 KiB: what is beyond was left out");
    }
    if (!ended) say("the last line has no end: its last word may have been cut");
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
    parse_tegrastats_line(held_, line_);
    if (json_) {
      nlohmann::ordered_json json = tegrastats_json(line_);
      if (overlong_) json["cut"] = true;
      put(one_line(json) + "\n");
    } else {
      put(text_.block(line_, number_));
    }
    held_.clear();
    overlong_ = false;
  }

  bool json_;
  TegrastatsText text_;
  TegrastatsLine line_;
  std::string held_;  // what no line's end has come of
  bool overlong_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t cut_ = 0;
};

// To the input's end, or until standard output takes no more. Each line is out before the next is
// waited for.
Result<void> explain(int fd, std::string_view path, Explainer& explainer) {
  std::array<char, 16U << 10> buffer;
  while (std::ferror(stdout) == 0) {
    // Standard input may be one that does not block.
    pollfd ready{fd, POLLIN, 0};
    ::poll(&ready, 1, -1);
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

int fail_with(const Error& error) {
  say(error.message);
  return error.code == Errc::kInvalid ? kExitUsage : kExitFailed;
}

int run_decode_tegrastats(const std::string& directory, const DecodeOptions& options) {
  const bool captured = !directory.empty() && options.file.empty();
  const std::string file = options.file.empty() ? "-" : options.file;
  Result<UniqueFd> input = UniqueFd();
  if (captured) {
    auto root = Root::at(directory);
    if (!root) return fail_with(std::move(root.error()).within("--root"));
    input = open_captured(*root, directory, kCaptured);
  } else {
    input = open_given(file);
  }
  if (!input) return fail_with(input.error());
  const bool from_stdin = !captured && file == "-";
  if (from_stdin && ::isatty(STDIN_FILENO) == 1) {
    say("reading what you type or paste; Ctrl-D ends it");
  }
  const std::string path = captured     ? printable(directory, 300) + std::string(kCaptured)
                           : from_stdin ? "standard input"
                                        : printable(file, 300);
  Explainer explainer(options.json);
  const auto read = explain(input->get(), path, explainer);
  if (!read) return fail_with(read.error());
  return kExitOk;
}

}  // namespace

void add_decode_tegrastats(CLI::App& decode, CommandContext& context) {
  CLI::App* sub = decode.add_subcommand(
      "tegrastats", "Explain lines of NVIDIA's tegrastats, from TK1 to Thor, as they come");
  auto options = std::make_shared<DecodeOptions>();
  sub->add_option("FILE", options->file, "What it printed; - or nothing: standard input")
      ->type_name("");
  sub->add_flag("--json", options->json, "One JSON object for each line, nothing else");
  sub->footer(
      "Live: sudo tegrastats | jetmem decode tegrastats\n"
      "Any line will do, of any release, with or without root; words that are not known are shown\n"
      "as they are. --root DIR reads DIR/jetmem/tegrastats, unless a FILE is given.\n"
      "\n"
      "Members of --json, each left out where the line does not tell it: time (as printed), ram,\n"
      "swap, iram, cpu (null: core off), emc, gr3d (mhz: a list, a clock for each GPC), gr3d2,\n"
      "engines (\"off\", or percent and mhz; names as printed, without _FREQ), mts, "
      "edp_limit_mhz,\n"
      "temperatures (sensors without power are left out), temperatures_max, rails, and always\n"
      "unknown: the words that nobody knows. A percentage without a clock is as printed and\n"
      "has quality: unknown; an EMC of 0% so marked could not be read: it is not idle.\n"
      "Exit status: 0 when the input was read, whatever is in it; 1 when it could not be; 2 on a\n"
      "wrong command line.");
  sub->callback(
      [options, &context] { context.status = run_decode_tegrastats(context.root, *options); });
}

}  // namespace jetmem
