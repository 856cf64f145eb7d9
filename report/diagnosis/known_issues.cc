// SPDX-License-Identifier: Apache-2.0
#include "report/diagnosis/known_issues.h"

#include <algorithm>

#include "base/text/text.h"
#include "report/diagnosis/values.h"

namespace jetmem::diagnosis {
namespace {

enum class Match : std::uint8_t { kNo, kUnknown, kYes };

Match board_match(const KnownIssue& issue, const Case& it) {
  if (issue.board.empty()) return Match::kYes;
  if (it.facts.board.empty()) return it.facts.is_jetson() ? Match::kNo : Match::kUnknown;
  const std::string board = in_lower_case(it.facts.board);
  const bool is_one =
      std::any_of(issue.board.begin(), issue.board.end(),
                  [&](std::string_view each) { return contains(board, in_lower_case(each)); });
  return is_one ? Match::kYes : Match::kNo;
}

Match version_match(const KnownIssue& issue, const Case& it) {
  const std::string_view kernel = it.facts.kernel;
  if (!issue.l4t.empty() && !it.facts.l4t.empty()) {
    return is_release_of(issue.l4t, it.facts.l4t) ? Match::kYes : Match::kNo;
  }
  if (!issue.kernel.empty() && !kernel.empty()) {
    const bool is_one =
        std::any_of(issue.kernel.begin(), issue.kernel.end(),
                    [&](std::string_view each) { return kernel.starts_with(each); });
    return is_one ? Match::kYes : Match::kNo;
  }
  if (issue.l4t.empty() && issue.kernel.empty()) return Match::kYes;
  // Some other machine's kernel has no release of L4T.
  return !kernel.empty() && !contains(kernel, "tegra") ? Match::kNo : Match::kUnknown;
}

std::string versions_of(const KnownIssue& issue) {
  std::string out;
  const auto add = [&](Names list, const char* what) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      out += i == 0 ? what : i + 1 < list.size() ? ", " : " or ";
      out += list[i];
      if (list[i].ends_with('.')) out += "x";
    }
  };
  add(issue.l4t, "L4T ");
  if (out.empty()) add(issue.kernel, "kernel ");
  if (!issue.board.empty()) {
    out += out.empty() ? "a " : " on a ";
    out += issue.board.front();
  }
  return out;
}

// The program or driver that printed it, its device, or one that the same log has.
bool has_program(const KnownIssue& issue, const Case& it) {
  return issue.programs.empty() ||
         std::any_of(issue.programs.begin(), issue.programs.end(), [&](std::string_view each) {
           return it.facts.programs.contains(each) || it.facts.backtrace_modules.contains(each) ||
                  contains(it.event.text("unit"), each) || contains(it.event.text("comm"), each) ||
                  contains(it.event.text("driver"), each) || contains(it.event.device(), each);
         });
}

}  // namespace

bool is_release_of(Names releases, std::string_view l4t) {
  return std::any_of(releases.begin(), releases.end(), [&](std::string_view each) {
    if (each.ends_with(".x")) return l4t.starts_with(each.substr(0, each.size() - 1));
    return each == l4t || std::string(each) + ".0" == l4t;
  });
}

std::vector<Cause> known_issues_of(const Case& it) {
  std::vector<Cause> out;
  const auto swap_free = report_of(it).number({"swap_free_kb", "free_swap_kb"});
  for (const KnownIssue& issue : shipped_known_issues()) {
    const CauseEntry& entry = issue.entry;
    if (entry.of.empty() || !applies(entry, it) || !has_program(issue, it)) continue;
    if (issue.swap_free && swap_free == 0.0) continue;
    const Match match = std::min(version_match(issue, it), board_match(issue, it));
    const bool has_sign = !entry.when.empty() || !issue.programs.empty();
    if (match == Match::kNo || (match == Match::kUnknown && !has_sign)) continue;
    Cause cause;
    cause.id = entry.id;
    if (match == Match::kUnknown) {
      cause.cause = "Known issue, if this is " + versions_of(issue) + ": ";
    } else if (issue.swap_free && !swap_free) {
      cause.cause = "Known issue, if swap was still free: ";
    }
    cause.cause += entry.cause;
    cause.remedy = entry.remedy;
    cause.runbook = entry.runbook;
    if (!issue.links.empty()) cause.link = issue.links.front();
    cause.kind = it.event.kind();
    cause.device = it.event.device();
    out.push_back(std::move(cause));
  }
  return out;
}

bool is_known_issue(std::string_view id) {
  return std::any_of(shipped_known_issues().begin(), shipped_known_issues().end(),
                     [&](const KnownIssue& issue) { return issue.entry.id == id; });
}

std::vector<const KnownIssue*> known_issues_of_release(std::string_view l4t) {
  std::vector<const KnownIssue*> out;
  if (l4t.empty()) return out;
  for (const KnownIssue& issue : shipped_known_issues()) {
    if (issue.by_release && is_release_of(issue.l4t, l4t)) out.push_back(&issue);
  }
  return out;
}

NvmapLimit nvmap_limit(std::string_view l4t) {
  for (const KnownIssue* issue : known_issues_of_release(l4t)) {
    if (issue->entry.id == "l4t-nvmap-limit") return NvmapLimit::kRefuses;
  }
  // Published drivers of 36.2 to 36.4: only what is more than all RAM is refused.
  const auto major = take_u64(l4t);
  if (!major || !take_prefix(l4t, ".")) return NvmapLimit::kUnknown;
  const auto minor = take_u64(l4t);
  const bool is_seen = minor && *major == 36 && *minor >= 2 && *minor <= 4;
  return is_seen ? NvmapLimit::kGrants : NvmapLimit::kUnknown;
}

}  // namespace jetmem::diagnosis
