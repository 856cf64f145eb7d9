#include "cli/rules_explain.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "cli/alerts_asked.h"
#include "cli/alerts_text.h"
#include "cli/event_text.h"
#include "cli/exit_codes.h"
#include "cli/rule_input.h"
#include "health/rules/promql.h"
#include "report/rule_words.h"

namespace jetmem {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kDeeper = 5;

struct ExplainOptions {
  std::string name;
  AlertsWanted wanted;
};

void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string place(const std::string& file, Position at) {
  return printable(file, 1000) + ":" + std::to_string(at.line);
}

// Of the answer, where it is about the same rule: the daemon's rules may be other ones.
const AlertsAnswer::Rule* find_rule(const AlertsAnswer& answer, const Rule& rule) {
  for (const AlertsAnswer::Rule& each : answer.rules) {
    if (each.name != rule.name || each.conditions.size() != rule.when.size()) continue;
    for (std::size_t c = 0; c < rule.when.size(); ++c) {
      if (each.conditions[c].text != printable(condition_words(rule.when[c]), 4096)) return nullptr;
    }
    return &each;
  }
  return nullptr;
}

void put_conditions(const Rule& rule, const AlertsAnswer::Rule* now) {
  std::string intro = "Fires for each series of which";
  if (rule.when.size() > 1) intro += " all of this holds";
  if (rule.when.size() == 1) intro += " this holds";
  if (rule.hold.count() > 0) intro += " for " + format_duration(rule.hold);
  put(wrapped(intro + ":", 0));
  for (std::size_t c = 0; c < rule.when.size(); ++c) {
    put(wrapped(std::to_string(c + 1) + ". " + condition_words(rule.when[c]), kIndent));
    if (now != nullptr) put(wrapped(standing(now->conditions[c]), kDeeper));
  }
  if (rule.keep_firing_for.count() > 0) {
    put(wrapped("Goes on for " + format_duration(rule.keep_firing_for) + " after it has ended.",
                0));
  }
  for (const std::string& other : rule.unless) {
    put(wrapped("Silent while " + other + " fires.", 0));
  }
}

void put_thresholds(const Rule& rule, const RuleSet& rules) {
  std::set<std::string> names;
  for (const Condition& condition : rule.when) {
    if (condition.comparison) names.insert(condition.threshold.name);
    if (condition.clear) names.insert(condition.clear->name);
  }
  names.erase("");
  if (names.empty()) return;
  put("\nThresholds (a file of rules.directory may set others):\n");
  for (const NamedThreshold& threshold : rules.thresholds) {
    if (names.count(threshold.name) == 0) continue;
    put(wrapped(threshold.name + " = " + printable(threshold.written) + ", set in " +
                    place(threshold.file, threshold.at),
                kIndent));
    if (!threshold.what.empty()) put(wrapped(threshold.what, kDeeper));
  }
}

void put_texts(const Rule& rule, const std::string& runbook) {
  put("\n" + wrapped(rule.texts.summary, 0));
  if (!rule.texts.cause.empty()) put(wrapped("Cause: " + rule.texts.cause, 0));
  if (!rule.texts.remedy.empty()) put(wrapped("Remedy: " + rule.texts.remedy, 0));
  if (!runbook.empty()) put(wrapped("Runbook: " + runbook, 0));
}

void put_state(const AlertsAsked& asked, const AlertsAnswer::Rule* now) {
  std::string text = "Now: ";
  if (now == nullptr) {
    text += asked.from.empty()
                ? "not judged"
                : "the jetmemd at " + asked.from + " judges by other rules; reload it";
    put("\n" + wrapped(text + ".", 0));
    return;
  }
  text += now->state;
  if (now->silenced) text += ", silenced";
  if (!now->blind.empty()) text += ": " + now->blind;
  if (!now->needs_past.empty()) text += ": " + now->needs_past;
  put("\n" + wrapped(text + "; " + who_judged(asked.answer, asked.from) + ".", 0));
}

int no_such_rule(const std::string& name, const NamedRules& named, const ParsedRules& parsed) {
  const RuleSet& rules = parsed.rules;
  std::string message = "no rule is called '" + printable(name, 60) + "'";
  std::vector<std::string_view> names;
  for (const Rule& rule : rules.rules) names.push_back(rule.name);
  const std::string_view near = nearest_name(name, names);
  if (std::find(rules.disabled.begin(), rules.disabled.end(), name) != rules.disabled.end()) {
    message += ": it is disabled";
  } else if (!near.empty()) {
    message += "; did you mean '" + std::string(near) + "'?";
  }
  if (!named.paths.empty() && !parsed.errors.empty()) {
    std::fprintf(stderr, "%s\n", describe(parsed.errors).c_str());
  } else if (!parsed.errors.empty()) {
    message +=
        "; " + counted(parsed.errors.size(), "mistake") + " in the rules, see jetmem rules check";
  }
  std::fprintf(stderr, "jetmem rules explain: %s; `jetmem rules list` lists them\n",
               message.c_str());
  return kExitUsage;
}

int run_rules_explain(const ExplainOptions& options) {
  const auto settings = settings_for("rules explain", options.wanted.config);
  if (!settings) return kExitUsage;
  std::size_t files = 0;
  const ParsedRules parsed = read_rules(options.wanted.rules, settings->rules, files);
  const Rule* rule = parsed.rules.find(options.name);
  if (rule == nullptr) return no_such_rule(options.name, options.wanted.rules, parsed);
  const auto asked = ask_for_alerts(options.wanted, *settings);
  const AlertsAnswer::Rule* now = asked ? find_rule(asked->answer, *rule) : nullptr;

  put(rule->name + ": " + std::string(severity_name(rule->severity)) + ", " +
      place(rule->file, rule->at) + "\n\n");
  put_conditions(*rule, now);
  put_thresholds(*rule, parsed.rules);
  put_texts(*rule, runbook_page(settings->rules.runbook_directory(), *rule));
  // To be copied: on one line, however long.
  put("\nPromQL:\n  " + promql_expression(*rule) + "\n");
  if (asked) {
    put_state(*asked, now);
    return kExitOk;
  }
  std::fprintf(stderr, "jetmem rules explain: no values: %s\n", asked.error().message.c_str());
  return asked.error().code == Errc::kInvalid ? kExitUsage : kExitFailed;
}

}  // namespace

void add_rules_explain(CLI::App& rules, CommandContext& context) {
  CLI::App* command = rules.add_subcommand(
      "explain", "Say what a rule means, its PromQL, and where its conditions stand now");
  auto options = std::make_shared<ExplainOptions>();
  command->add_option("NAME", options->name, "The alert")->required()->type_name("");
  add_rule_paths(command, options->wanted.rules);
  command
      ->add_option("--daemon", options->wanted.daemon, "Ask the jetmemd at this address, no other")
      ->type_name("ADDRESS");
  command
      ->add_option("--config", options->wanted.config, "Settings file (default: those of jetmemd)")
      ->type_name("FILE");
  command->footer(
      "The values are jetmemd's where it answers, else of one look (as jetmem alerts has them). "
      "Of\n"
      "rules in PATH they are of one look: no daemon has read them.\n"
      "Exit status: 0; 1 when no values could be had; 2 when there is no such rule or the command\n"
      "line is wrong.");
  command->callback([options, &context] {
    options->wanted.root = context.root;
    options->wanted.access = context.access;
    context.status = run_rules_explain(*options);
  });
}

}  // namespace jetmem
