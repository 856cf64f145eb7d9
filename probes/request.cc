// SPDX-License-Identifier: Apache-2.0
#include "probes/request.h"

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::string_view kHead = "jetmem-probe/1 pid ";
// Of a word that a program says of itself, so that no message grows without bound.
constexpr std::size_t kLongestWord = 50;

bool is_word(std::string_view name) {
  return !name.empty() && name.size() <= 64 && printable(name) == name &&
         name.find_first_of(" =\t") == std::string_view::npos;
}

ProbeOutput::Step step_of(std::string_view rest) {
  ProbeOutput::Step step;
  for (std::string* word : {&step.kind, &step.target, &step.step}) {
    *word = printable(take_word(rest), kLongestWord);
  }
  if (step.target == "-") step.target.clear();
  step.bytes = parse_u64(trim(rest)).value_or(0);
  return step;
}

}  // namespace

std::string ProbeOutput::Step::words() const {
  return kind + (target.empty() ? "" : " " + target) + " " + step +
         (bytes == 0 ? "" : " " + std::to_string(bytes) + " bytes");
}

std::vector<std::string> probe_arguments(const ProbeRequest& request) {
  std::vector<std::string> arguments;
  std::string kinds;
  for (const std::string& kind : request.kinds) kinds += (kinds.empty() ? "" : ",") + kind;
  if (!kinds.empty()) arguments.insert(arguments.end(), {"--kinds", kinds});
  arguments.insert(arguments.end(), {"--frame", std::to_string(request.frame_bytes)});
  for (const auto& [area, bytes] : request.largest_runs) {
    if (!is_word(area)) continue;
    arguments.insert(arguments.end(), {"--largest-run", area + "=" + std::to_string(bytes)});
  }
  if (request.any_heap) arguments.emplace_back("--any-heap");
  if (request.bisect_limit > 0) {
    arguments.insert(arguments.end(), {"--bisect", std::to_string(request.bisect_limit)});
  }
  arguments.insert(arguments.end(), {"--deadline", std::to_string(request.deadline.count())});
  arguments.emplace_back("--progress");
  return arguments;
}

std::string probe_request_line(const ProbeRequest& request) {
  std::string line;
  for (const std::string& argument : probe_arguments(request)) {
    line += (line.empty() ? "" : " ") + argument;
  }
  return line + "\n";
}

ProbeOutput split_probe_output(std::string_view text) {
  ProbeOutput output;
  Lines lines(text);
  std::string_view line;
  while (lines.next(line)) {
    const bool is_whole = !lines.rest().empty() || text.back() == '\n';
    if (take_prefix(line, kHead)) {
      output.pid = parse_u64(line).value_or(0);
    } else if (take_prefix(line, "at ")) {
      if (is_whole) output.at = step_of(line);
    } else if (is_whole && line.starts_with('{')) {
      // Only what comes last is the result.
      if (lines.rest().empty()) output.result = line;
    }
  }
  return output;
}

}  // namespace jetmem
