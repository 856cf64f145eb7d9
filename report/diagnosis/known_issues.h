// SPDX-License-Identifier: Apache-2.0
// Defects of certain releases that show as trouble with memory: data, in known_issues.yaml, which
// says how an entry is written. It is compiled in.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "report/diagnosis/cause.h"

namespace jetmem::diagnosis {

struct KnownIssue {
  std::string id;
  // Exact releases: what later ones fixed is not guessed from ranges. An item that ends in ".x"
  // stands for all releases that begin so, "36.4.x".
  std::vector<std::string> l4t;
  std::vector<std::string> kernel;  // beginnings of a version: "6.18."
  std::vector<std::string> board;   // parts of a board's name
  bool by_release = false;          // on these releases, whatever has happened
  // Of the event: one of these kinds; all these fields, "errno=14"; and, if there are any, one of
  // these words in a field.
  std::vector<std::string> kinds;
  std::vector<std::string> fields;
  std::vector<std::string> words;
  // The program that printed it, or one whose name the same log has.
  std::vector<std::string> programs;
  bool swap_free = false;  // unless the kernel reported that no swap is free
  // Kinds that the same log must have too.
  std::vector<std::string> with;
  std::string cause;
  std::string remedy;
  std::string runbook;
  std::vector<std::string> links;  // where it is described; or
  std::string source;              // who reports it
};

// Those of the file; errors as in every configuration file.
struct KnownIssues {
  std::vector<KnownIssue> issues;
  std::vector<ConfigError> errors;
};
KnownIssues parse_known_issues(std::string_view name, std::string_view text);
// Those that ship.
const KnownIssues& shipped_known_issues();

// Of this event: release and board match, or are not known while fields or words are there.
std::vector<Cause> known_issues_of(const EventFields& event, const MachineFacts& facts,
                                   const LogContent& log);
// Of this release as such, whatever happened so far.
std::vector<const KnownIssue*> known_issues_of_release(
    std::string_view l4t, const KnownIssues& known = shipped_known_issues());

}  // namespace jetmem::diagnosis
