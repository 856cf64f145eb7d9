// SPDX-License-Identifier: Apache-2.0
#include "base/text/text.h"
#include "collectors/probe/source.h"
#include "probes/partial.h"
#include "probes/request.h"
#include "tests/fuzz/target.h"

// What a probe printed until it ended, however that was.
FUZZ(text) {
  const ProbeOutput output = split_probe_output(text);
  const std::string where = output.at ? output.at->words() : std::string();
  check(printable(where, 1000) == where && output.result.find('\n') == std::string::npos);
  const std::string partial = partial_probe_result(text, std::chrono::seconds(3));
  ProbeRun run;
  check(partial.empty() || parse_probe_run(partial, run));
  ProbeRun::Probe lost;
  lost.kind = "device";
  lost.reason = "crashed";
  lost.error = where;
  for (const std::string& line : {partial, output.result}) {
    const std::string reported = with_lost_probe(line, lost, {.cuda = true});
    check(reported.find('\n') == std::string::npos);
    check(reported == line || parse_probe_run(reported, run));
  }
}
