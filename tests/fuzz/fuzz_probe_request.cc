// SPDX-License-Identifier: Apache-2.0
#include "base/text/text.h"
#include "probes/program/options.h"
#include "tests/fuzz/target.h"

// A line of text over systemd's socket is a command line without names of files.
FUZZ(rest) {
  using namespace jetmem::probe;
  std::vector<std::string> words;
  while (!rest.empty()) words.emplace_back(take_until(rest, ' '));
  const Options usual;
  Options options;
  std::string problem;
  const Parsed parsed = parse_options(words, OptionSource::kRequest, options, problem);
  check(printable(problem, 1000) == problem);
  check((parsed == Parsed::kInvalid) == !problem.empty());
  check(options.heap_directory == usual.heap_directory && options.udmabuf == usual.udmabuf &&
        options.meminfo == usual.meminfo && options.library_directory == usual.library_directory);
  check(parsed != Parsed::kRun || (options.frame_bytes != 0 && options.deadline_seconds != 0));
  (void)parse_options(words, OptionSource::kCommandLine, options, problem);
}
