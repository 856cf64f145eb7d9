// SPDX-License-Identifier: Apache-2.0
#include "report/diagnosis/known_issues.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "collectors/kernel_log/event/kinds.h"
#include "config/yaml_fields.h"
#include "report/diagnosis/shipped_known_issues.h"

namespace jetmem::diagnosis {
namespace {

constexpr std::array<std::string_view, 1> kFileNames{"known_issues"};
constexpr std::array<std::string_view, 16> kIssueNames{
    "id",       "by_release", "l4t",  "kernel", "board",  "kinds",   "fields", "words",
    "programs", "swap_free",  "with", "cause",  "remedy", "runbook", "links",  "source"};

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxConfigName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '.';
         });
}

// "36.4.7", "36.4.x": numbers and dots.
bool is_release(std::string_view text) {
  if (text.ends_with(".x")) text.remove_suffix(2);
  return !text.empty() && text.front() != '.' && text.back() != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || c == '.'; });
}

class IssueReader {
 public:
  IssueReader(std::string_view name, KnownIssues& out)
      : errors_(std::string(name), out.errors), fields_(errors_), out_(out) {}

  void read(std::string_view text) {
    const YamlDocument document = parse_yaml(text);
    errors_.add(document.problems);
    if (!document.readable) return;
    const YamlMap map(errors_, document.root, "", kFileNames, "a file of known issues");
    const YamlNode* const list = map.get("known_issues");
    if (list == nullptr) return;
    if (list->kind != YamlNode::Kind::kList) {
      errors_.add(list->at, "known_issues", "known_issues must be a list");
      return;
    }
    for (const YamlNode& each : list->items) read_issue(each);
  }

 private:
  std::vector<std::string> list(const YamlMap& map, const char* name, const std::string& key) {
    std::vector<std::string> out;
    const YamlNode* const node = map.get(name);
    if (node == nullptr) return out;
    for (auto& [word, at] : fields_.words(*node, key + "." + name)) out.push_back(word);
    return out;
  }

  std::string text(const YamlMap& map, const char* name, const std::string& key,
                   const YamlNode& at) {
    const YamlNode* const node = map.get(name);
    if (node == nullptr) {
      errors_.add(at.at, key, key + " has no " + name);
      return {};
    }
    return fields_.text(*node, key + "." + name);
  }

  void check_kinds(const std::vector<std::string>& kinds, const std::string& key,
                   const YamlNode& at) {
    for (const std::string& kind : kinds) {
      if (!kernel_log::kind_named(kind)) {
        errors_.add(at.at, key, key + ": there is no kind of event '" + printable(kind, 60) + "'");
      }
    }
  }

  void read_issue(const YamlNode& node) {
    const std::string key = "known_issues[" + std::to_string(out_.issues.size()) + "]";
    const std::size_t before = errors_.count();
    const YamlMap map(errors_, node, key, kIssueNames, "a known issue");
    if (!map.ok()) return;
    KnownIssue issue;
    issue.id = text(map, "id", key, node);
    issue.cause = text(map, "cause", key, node);
    issue.remedy = text(map, "remedy", key, node);
    issue.runbook = text(map, "runbook", key, node);
    issue.l4t = list(map, "l4t", key);
    issue.kernel = list(map, "kernel", key);
    if (const YamlNode* node_of = map.get("by_release")) {
      issue.by_release = fields_.word(*node_of, key + ".by_release") == "true";
    }
    if (const YamlNode* node_of = map.get("swap_free")) {
      issue.swap_free = fields_.word(*node_of, key + ".swap_free") == "true";
    }
    issue.board = list(map, "board", key);
    issue.fields = list(map, "fields", key);
    issue.programs = list(map, "programs", key);
    issue.kinds = list(map, "kinds", key);
    issue.words = list(map, "words", key);
    issue.with = list(map, "with", key);
    issue.links = list(map, "links", key);
    if (!issue.id.empty() && !is_id(issue.id)) {
      errors_.add(node.at, key, key + ".id must be lower-case letters, digits, '-' and '.'");
    }
    const bool twice = std::any_of(out_.issues.begin(), out_.issues.end(),
                                   [&](const KnownIssue& each) { return each.id == issue.id; });
    if (twice) errors_.add(node.at, key, "'" + issue.id + "' is there twice");
    if (const YamlNode* source = map.get("source")) {
      issue.source = fields_.text(*source, key + ".source");
    }
    if (issue.links.empty() && issue.source.empty()) {
      errors_.add(node.at, key, key + " has neither links nor source: say who reports it");
    }
    for (const std::string& link : issue.links) {
      if (!link.starts_with("https://")) {
        errors_.add(node.at, key, key + ".links: '" + printable(link, 80) + "' is no address");
      }
    }
    if (issue.kinds.empty() && !(issue.by_release && !issue.l4t.empty())) {
      errors_.add(node.at, key, key + " needs kinds, or by_release with l4t: nothing matches it");
    }
    for (const std::string& release : issue.l4t) {
      if (!is_release(release)) {
        errors_.add(
            node.at, key,
            key + ".l4t: '" + printable(release, 40) + "' is no release such as 36.4.7 or 36.4.x");
      }
    }
    for (const std::string& field : issue.fields) {
      if (field.find('=') == std::string::npos) {
        errors_.add(node.at, key,
                    key + ".fields: '" + printable(field, 60) + "' is not NAME=VALUE");
      }
    }
    check_kinds(issue.kinds, key, node);
    check_kinds(issue.with, key, node);
    if (errors_.count() == before) out_.issues.push_back(std::move(issue));
  }

  ConfigErrors errors_;
  YamlFields fields_;
  KnownIssues& out_;
};

bool matches_release(const KnownIssue& issue, std::string_view l4t) {
  return std::any_of(issue.l4t.begin(), issue.l4t.end(), [&](const std::string& each) {
    if (!each.ends_with(".x")) return each == l4t || each + ".0" == l4t;
    return l4t.starts_with(std::string_view(each).substr(0, each.size() - 1));
  });
}

enum class Match : std::uint8_t { kNo, kUnknown, kYes };

Match board_match(const KnownIssue& issue, const MachineFacts& facts) {
  if (issue.board.empty()) return Match::kYes;
  if (facts.board.empty()) return facts.is_jetson() ? Match::kNo : Match::kUnknown;
  const std::string board = in_lower_case(facts.board);
  const bool is_one =
      std::any_of(issue.board.begin(), issue.board.end(),
                  [&](const std::string& each) { return contains(board, in_lower_case(each)); });
  return is_one ? Match::kYes : Match::kNo;
}

Match version_match(const KnownIssue& issue, const MachineFacts& facts) {
  if (!issue.l4t.empty() && !facts.l4t.empty()) {
    return matches_release(issue, facts.l4t) ? Match::kYes : Match::kNo;
  }
  if (!issue.kernel.empty() && !facts.kernel.empty()) {
    const bool is_one = std::any_of(
        issue.kernel.begin(), issue.kernel.end(),
        [&](const std::string& each) { return std::string_view(facts.kernel).starts_with(each); });
    return is_one ? Match::kYes : Match::kNo;
  }
  if (issue.l4t.empty() && issue.kernel.empty()) return Match::kYes;
  // Some other machine's kernel has no release of L4T.
  const bool is_other = !facts.kernel.empty() && !contains(facts.kernel, "tegra");
  return is_other ? Match::kNo : Match::kUnknown;
}

std::string versions_of(const KnownIssue& issue) {
  std::string out;
  const auto add = [&](const std::vector<std::string>& list, const char* what) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      out += i == 0 ? what : i + 1 < list.size() ? ", " : " or ";
      out += list[i];
      if (list[i].ends_with('.')) out += "x";
    }
  };
  add(issue.l4t, "L4T ");
  if (out.empty()) add(issue.kernel, "kernel ");
  if (!issue.board.empty()) out += (out.empty() ? "a " : " on a ") + issue.board.front();
  return out;
}

bool has_fields(const KnownIssue& issue, const EventFields& event) {
  return std::all_of(issue.fields.begin(), issue.fields.end(), [&](std::string_view each) {
    const std::size_t equals = each.find('=');
    return event.text(each.substr(0, equals)) == each.substr(equals + 1);
  });
}

bool has_program(const KnownIssue& issue, const EventFields& event, const MachineFacts& facts) {
  return issue.programs.empty() ||
         std::any_of(issue.programs.begin(), issue.programs.end(), [&](const std::string& each) {
           return facts.programs.contains(each) || contains(event.text("unit"), each) ||
                  contains(event.text("comm"), each);
         });
}

}  // namespace

KnownIssues parse_known_issues(std::string_view name, std::string_view text) {
  KnownIssues out;
  IssueReader(name, out).read(text);
  return out;
}

const KnownIssues& shipped_known_issues() {
  static const KnownIssues kIssues =
      parse_known_issues("known_issues.yaml", shipped_known_issues_text());
  return kIssues;
}

std::vector<Cause> known_issues_of(const EventFields& event, const MachineFacts& facts,
                                   const LogContent& log) {
  std::vector<Cause> out;
  for (const KnownIssue& issue : shipped_known_issues().issues) {
    if (std::find(issue.kinds.begin(), issue.kinds.end(), event.kind()) == issue.kinds.end()) {
      continue;
    }
    const bool says = std::any_of(issue.words.begin(), issue.words.end(),
                                  [&](const std::string& each) { return event.has_text(each); });
    if (!issue.words.empty() && !says) continue;
    if (!has_fields(issue, event) || !has_program(issue, event, facts)) continue;
    if (issue.swap_free && log.report.swap_free_kb == 0.0) continue;
    if (std::any_of(issue.with.begin(), issue.with.end(),
                    [&](const std::string& each) { return !log.kinds.contains(each); })) {
      continue;
    }
    const Match match = std::min(version_match(issue, facts), board_match(issue, facts));
    const bool has_sign = !issue.words.empty() || !issue.fields.empty() || !issue.programs.empty();
    if (match == Match::kNo || (match == Match::kUnknown && !has_sign)) continue;
    Cause cause;
    cause.id = issue.id;
    cause.cause = issue.cause;
    if (match == Match::kUnknown) {
      cause.cause = "Known issue, if this is " + versions_of(issue) + ": " + issue.cause;
    }
    if (issue.swap_free && !log.report.swap_free_kb) {
      cause.cause = "Known issue, if swap was still free: " + issue.cause;
    }
    cause.remedy = issue.remedy;
    cause.runbook = issue.runbook;
    if (!issue.links.empty()) cause.link = issue.links.front();
    cause.kind = event.kind();
    cause.device = event.device();
    out.push_back(std::move(cause));
  }
  return out;
}

std::vector<const KnownIssue*> known_issues_of_release(std::string_view l4t,
                                                       const KnownIssues& known) {
  std::vector<const KnownIssue*> out;
  if (l4t.empty()) return out;
  for (const KnownIssue& issue : known.issues) {
    if (issue.by_release && matches_release(issue, l4t)) out.push_back(&issue);
  }
  return out;
}

}  // namespace jetmem::diagnosis
