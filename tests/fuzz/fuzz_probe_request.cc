// SPDX-License-Identifier: Apache-2.0
#include "base/text/text.h"
#include "probes/program/options.h"
#include "tests/fuzz/target.h"

// A line of text over systemd's socket is a command line without names of files.
FUZZ(rest) {
  using namespace jetmem::probe;
  std::vector<std::string> words;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const Options usual;
  Options options;
  std::string problem;
  const Parsed parsed = parse_options(words, OptionSource::kRequest, options, problem);
  if (printable(problem, 1000) != problem) __builtin_trap();
  if ((parsed == Parsed::kInvalid) != !problem.empty()) __builtin_trap();
  if (options.heap_directory != usual.heap_directory || options.udmabuf != usual.udmabuf ||
      options.meminfo != usual.meminfo || options.library_directory != usual.library_directory) {
    __builtin_trap();
  }
  if (parsed == Parsed::kRun && (options.frame_bytes == 0 || options.deadline_seconds == 0)) {
    __builtin_trap();
  }
  (void)parse_options(words, OptionSource::kCommandLine, options, problem);
}
