// SPDX-License-Identifier: Apache-2.0
#include "probes/program/options.h"

#include <algorithm>
#include <iterator>

#include "probes/program/small_file.h"

namespace jetmem::probe {
namespace {

constexpr std::uint64_t kLeastFrame = 4096;
constexpr std::uint64_t kLargestFrame = 256ULL << 20;
constexpr unsigned kLongestDeadline = 600;

constexpr std::size_t kMaxLargestRuns = 64;
constexpr std::size_t kLongestShown = 64;

bool parse_number(const std::string& text, std::uint64_t& number) {
  const auto parsed = parse_digits(text);
  if (parsed) number = *parsed;
  return parsed.has_value();
}

// It goes to a terminal or a log.
std::string shown(const std::string& text) {
  std::string out = text.substr(0, kLongestShown);
  for (char& c : out) c = c >= ' ' && c <= '~' ? c : '?';
  return "'" + out + (text.size() > kLongestShown ? "...'" : "'");
}

bool is_kind(const std::string& name) {
  return std::find(std::begin(kKinds), std::end(kKinds), name) != std::end(kKinds);
}

bool parse_kinds(const std::string& text, std::vector<std::string>& kinds, std::string& problem) {
  std::vector<std::string> requested;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string name = text.substr(at, end - at);
    if (!is_kind(name)) {
      problem = "--kinds: there is no kind " + shown(name) + "; there are";
      for (const char* kind : kKinds) problem += std::string(" ") + kind;
      return false;
    }
    requested.push_back(name);
    at = end + 1;
  }
  kinds.clear();
  for (const char* kind : kKinds) {
    if (std::find(requested.begin(), requested.end(), kind) != requested.end())
      kinds.emplace_back(kind);
  }
  return true;
}

}  // namespace

const char kHelp[] =
    "Usage: jetmem-probe [OPTION]...\n"
    "\n"
    "Allocates memory of each kind, writes it, has the GPU change it, compares it, frees it,\n"
    "and prints the results as one line of JSON. jetmemd runs it periodically, `jetmem probe` by\n"
    "hand: both check first that enough memory is free. Run directly, it checks nothing.\n"
    "\n"
    "  --kinds LIST        only these, separated by commas: host, dmabuf, pinned, managed, "
    "device,\n"
    "                      registered, pool, dmabuf_export, dmabuf_import, nvbufsurface,\n"
    "                      eglstream\n"
    "  --frame BYTES       the largest buffer, a camera's frame; 12582912 by default\n"
    "  --largest-run NAME=BYTES\n"
    "                      contiguous free memory behind the DMA heap NAME; a heap other than the\n"
    "                      system's is tried only where this is four frames; repeatable\n"
    "  --any-heap          try every DMA heap, whatever is free\n"
    "  --bisect BYTES      find the largest size that succeeds, up to this; a camera that "
    "starts\n"
    "                      meanwhile may find nothing\n"
    "  --deadline SECONDS  end after this long, 60 by default\n"
    "  --progress          print each step on stdout as it begins\n"
    "  --request           read these options from a line of stdin: for systemd\n"
    "  --heaps DIR, --udmabuf FILE, --libraries DIR\n"
    "                      look there instead; for tests, and not in a request\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 when the line was printed, whatever it says; 64 on a wrong option, 70 and 74 "
    "if it could\n"
    "not be printed.\n";

Parsed parse_options(const std::vector<std::string>& arguments, OptionSource source,
                     Options& options, std::string& problem) {
  options.kinds.assign(std::begin(kKinds), std::end(kKinds));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--help") return Parsed::kHelp;
    if (name == "--version") return Parsed::kVersion;
    if (name == "--any-heap") {
      options.any_heap = true;
      continue;
    }
    if (name == "--progress") {
      options.progress = true;
      continue;
    }
    const char* const with_value[] = {"--kinds",    "--frame", "--largest-run", "--bisect",
                                      "--deadline", "--heaps", "--udmabuf",     "--libraries"};
    if (std::find(std::begin(with_value), std::end(with_value), name) == std::end(with_value)) {
      problem = "unknown option " + shown(name) + "; see --help";
      return Parsed::kInvalid;
    }
    const bool names_file = name == "--heaps" || name == "--udmabuf" || name == "--libraries";
    if (names_file && source == OptionSource::kRequest) {
      problem = name + ": not in a request";
      return Parsed::kInvalid;
    }
    if (i + 1 == arguments.size()) {
      problem = name + " needs a value; see --help";
      return Parsed::kInvalid;
    }
    const std::string& value = arguments[++i];
    std::uint64_t number = 0;
    const auto wrong = [&](const std::string& expected) {
      problem = name + ": expected " + expected + ", found " + shown(value);
      return Parsed::kInvalid;
    };
    if (name == "--kinds") {
      if (!parse_kinds(value, options.kinds, problem)) return Parsed::kInvalid;
    } else if (name == "--frame") {
      if (!parse_number(value, number) || number < kLeastFrame || number > kLargestFrame) {
        return wrong("a number of bytes from 4096 to 268435456");
      }
      options.frame_bytes = number;
    } else if (name == "--largest-run") {
      const std::size_t equals = value.rfind('=');
      if (equals == std::string::npos || equals == 0 ||
          !parse_number(value.substr(equals + 1), number)) {
        return wrong("NAME=BYTES");
      }
      options.largest_runs[value.substr(0, equals)] = number;
      if (options.largest_runs.size() > kMaxLargestRuns) {
        problem = "--largest-run: more than 64 of them";
        return Parsed::kInvalid;
      }
    } else if (name == "--bisect") {
      if (!parse_number(value, number) || number == 0) return wrong("a number of bytes");
      options.bisect_limit = number;
    } else if (name == "--deadline") {
      if (!parse_number(value, number) || number == 0 || number > kLongestDeadline) {
        return wrong("a number of seconds from 1 to 600");
      }
      options.deadline_seconds = static_cast<unsigned>(number);
    } else {
      if (value.empty() || value[0] != '/') return wrong("an absolute path");
      if (name == "--heaps") options.heap_directory = value;
      if (name == "--udmabuf") options.udmabuf = value;
      if (name == "--libraries") options.library_directory = value;
    }
  }
  return Parsed::kRun;
}

}  // namespace jetmem::probe
