// SPDX-License-Identifier: Apache-2.0
// jetmem rules check|export|explain|list|catalog: the rules by which alerts fire.

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/text/print_error.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/client/alerts_client.h"
#include "cli/client/rule_input.h"
#include "cli/commands.h"
#include "cli/draw/table.h"
#include "cli/exit_codes.h"
#include "cli/text/alerts_text.h"
#include "cli/text/events/event_text.h"
#include "config/yaml_fields.h"
#include "report/answers/answer_head.h"
#include "rules/export/condition_text.h"
#include "rules/export/message_catalog.h"
#include "rules/export/prometheus_rules.h"
#include "rules/export/promql.h"

namespace jetmem {
namespace {

struct RulesCommand;

// What `jetmem rules export --file` prints if it is not given; the others are of
// prometheus_texts().
constexpr std::string_view kDeviceRules = "jetmem";

struct Selection : Target {
  const RulesCommand* command = nullptr;
  NamedRules named;
  std::string runbooks{kDefaultRunbooks};
  std::string file{kDeviceRules};
};

// What each of these commands starts from.
struct Loaded {
  Settings settings;
  ParsedRules rules;
  std::size_t files = 0;
};

int status_of(const Selection& needed, const Loaded& loaded) {
  return loaded.rules.errors.empty() ? kExitOk : exit_code(rules_error(needed.named));
}

int run_check(const Selection& needed, const Loaded& loaded) {
  const std::size_t errors = loaded.rules.errors.size();
  const std::string count =
      counted(loaded.rules.rules.rules.size(), "rule") + " in " + counted(loaded.files, "file");
  if (errors == 0) {
    std::printf("ok: %s\n", count.c_str());
  } else {
    print_error(counted(errors, "error") + "; valid: " + count);
  }
  return status_of(needed, loaded);
}

// A part of the rules would pass for all of them: it is all or nothing.
int run_export(const Selection& needed, const Loaded& loaded) {
  if (needed.file != kDeviceRules) {
    if (!needed.named.paths.empty()) {
      warn("rules export", "--file " + needed.file + " is compiled in and takes no PATH");
      return kExitUsage;
    }
    put(prometheus_text_of(needed.file, needed.runbooks));
    return kExitOk;
  }
  if (const std::size_t errors = loaded.rules.errors.size(); errors > 0) {
    warn("rules export", "nothing written: " + counted(errors, "error"));
    return status_of(needed, loaded);
  }
  put(prometheus_rules(loaded.rules.rules, loaded.settings.rules.interval, needed.runbooks));
  // Once for a Prometheus, however many files of a site's own rules are exported beside them.
  if (needed.named.paths.empty() || needed.named.with_shipped) {
    put(prometheus_text_of("records", needed.runbooks));
  }
  return kExitOk;
}

int run_catalog(const Selection& needed, const Loaded& loaded) {
  if (!loaded.rules.rules.rules.empty()) put(message_catalog(loaded.rules.rules));
  return status_of(needed, loaded);
}

std::string list_json(const ParsedRules& parsed) {
  std::vector<Rule> rules = parsed.rules.rules;
  std::vector<std::string> disabled;
  for (const std::string& name : parsed.rules.disabled) disabled.push_back(printable(name));
  return json::write_document(1, [&](json::Fields& v) {
    v.schema("jetmem-rules/1");
    v.list("rules", rules, [](json::Fields& each, const Rule& rule) {
      each.output("name", rule.name);
      each.output("severity", std::string(severity_name(rule.severity)));
      each.output("for_seconds", to_seconds(rule.hold));
      each.output("file", printable(rule.file, 1000));
      each.output("line", static_cast<std::uint64_t>(rule.at.line));
    });
    v("disabled", disabled);
    v.output("config_errors", std::uint64_t{parsed.errors.size()});
  });
}

std::string location(const std::string& file, Position at) {
  return printable(file, 1000) + ":" + std::to_string(at.line);
}

int run_list(const Selection& needed, const Loaded& loaded) {
  if (needed.json) {
    put(list_json(loaded.rules));
  } else if (!loaded.rules.rules.rules.empty() || !loaded.rules.rules.disabled.empty()) {
    Table table{{"ALERT"}, {"SEVERITY"}, {"FOR", Table::Align::kRight}, {"WHERE"}};
    for (const Rule& rule : loaded.rules.rules.rules) {
      table.row({rule.name, std::string(severity_name(rule.severity)), format_duration(rule.hold),
                 location(rule.file, rule.at)});
    }
    for (const std::string& name : loaded.rules.rules.disabled) {
      table.row({printable(name), "disabled"});
    }
    put(table.text());
  }
  return status_of(needed, loaded);
}

struct RulesCommand {
  const char* name;
  const char* help;
  const char* footer;
  const char* exit_status;
  int (*run)(const Selection& needed, const Loaded& loaded);
};

constexpr RulesCommand kCommands[] = {
    {"check", "Check the rules and show each error", "", "0 if they are valid", run_check},
    {"list", "List the rules and where each is defined", "Errors are on standard error.",
     "0 if there are no errors", run_list},
    {"export", "Print the rules as a rule file of Prometheus",
     "For Prometheus 2.42 or later. Prints nothing if there is an error.\n"
     "Without PATH or with --with-shipped, the recording rules that the Grafana dashboards query "
     "follow the alerts. --file "
     "prints rules that only Prometheus can evaluate: dead-man, devices that do not answer or no "
     "longer evaluate their rules; textfile, devices behind a node_exporter; fleet, devices that "
     "push to a centre.\n"
     "The default of --runbooks is the page that the device itself serves. Give the address at "
     "which your people read docs/runbooks where that cannot be reached, such as "
     "https://wiki.example.org/jetmem/NAME.\n",
     "0 if it was written", run_export},
    {"catalog", "Print the texts that journalctl -x shows below alerts",
     "The catalog of jetmem's own alerts is installed. For a site's own rules:\n"
     "  jetmem rules catalog /etc/jetmem/rules.d > /etc/systemd/catalog/jetmem-local.catalog\n"
     "  journalctl --update-catalog\n"
     "Errors are on standard error.",
     "0 if there are no errors", run_catalog},
};

int run_rules(const Selection& needed) {
  const std::string name = std::string("rules ") + needed.command->name;
  auto settings = settings_for(name.c_str(), needed.config);
  if (!settings) return exit_code(settings.error().code);
  Loaded loaded;
  loaded.settings = std::move(*settings);
  loaded.rules = read_rules(needed.named, loaded.settings.rules, loaded.files);
  const auto& errors = loaded.rules.errors;
  print_errors(errors);
  return needed.command->run(needed, loaded);
}

constexpr std::size_t kIndent = 2;
constexpr std::size_t kDeeper = 5;

struct ExplainOptions : AlertsRequest {
  std::string name;
};

// Of the answer, where it is about the same rule: the daemon's rules may be other ones.
const AlertsAnswer::Rule* find_rule(const AlertsAnswer& answer, const Rule& rule) {
  for (const AlertsAnswer::Rule& each : answer.rules) {
    if (each.name != rule.name || each.conditions.size() != rule.when.size()) continue;
    for (std::size_t c = 0; c < rule.when.size(); ++c) {
      if (each.conditions[c].text != printable(condition_text(rule.when[c]), 4096)) return nullptr;
    }
    return &each;
  }
  return nullptr;
}

void put_conditions(const Rule& rule, const AlertsAnswer::Rule* now) {
  std::string intro = "Fires for each series for which";
  if (rule.when.size() > 1) intro += " all of these are true";
  if (rule.when.size() == 1) intro += " this is true";
  if (rule.hold.count() > 0) intro += " for " + format_duration(rule.hold);
  put(wrapped(intro + ":", 0));
  for (std::size_t c = 0; c < rule.when.size(); ++c) {
    put(wrapped(std::to_string(c + 1) + ". " + condition_text(rule.when[c]), kIndent));
    if (now != nullptr) put(wrapped(standing(now->conditions[c]), kDeeper));
  }
  if (rule.keep_firing_for.count() > 0) {
    put(wrapped("Keeps firing for " + format_duration(rule.keep_firing_for) + " after its end.",
                0));
  }
  for (const std::string& other : rule.unless) {
    put(wrapped("Inhibited while " + other + " fires.", 0));
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
  put("\nThresholds (files in rules.directory can override them):\n");
  for (const NamedThreshold& threshold : rules.thresholds) {
    if (names.count(threshold.name) == 0) continue;
    put(wrapped(threshold.name + " = " + printable(threshold.written) + ", set in " +
                    location(threshold.file, threshold.at),
                kIndent));
    if (!threshold.description.empty()) put(wrapped(threshold.description, kDeeper));
  }
}

void put_texts(const Rule& rule, const std::string& runbook) {
  put("\n" + wrapped(rule.texts.summary, 0));
  if (!rule.texts.cause.empty()) put(wrapped("Cause: " + rule.texts.cause, 0));
  if (!rule.texts.remedy.empty()) put(wrapped("Remedy: " + rule.texts.remedy, 0));
  if (!runbook.empty()) put(wrapped("Runbook: " + runbook, 0));
}

void put_state(const AlertsReply& requested, const AlertsAnswer::Rule* now) {
  std::string text = "Now: ";
  if (now == nullptr) {
    text += requested.from.empty()
                ? "not evaluated"
                : "the jetmemd at " + requested.from + " uses other rules; reload it";
    put("\n" + wrapped(text + ".", 0));
    return;
  }
  text += now->state;
  if (now->inhibited) text += ", inhibited";
  if (!now->blind.empty()) text += ": " + now->blind;
  if (!now->needs_history.empty()) text += ": " + now->needs_history;
  put("\n" + wrapped(text + "; " + evaluator_name(requested.answer, requested.from) + ".", 0));
}

int no_such_rule(const std::string& name, const NamedRules& named, const ParsedRules& parsed) {
  const RuleSet& rules = parsed.rules;
  std::string message = "unknown rule '" + printable(name, 60) + "'";
  std::vector<std::string_view> names;
  for (const Rule& rule : rules.rules) names.push_back(rule.name);
  const bool is_disabled =
      std::find(rules.disabled.begin(), rules.disabled.end(), name) != rules.disabled.end();
  message += is_disabled ? ": it is disabled" : did_you_mean(name, names);
  if (!named.paths.empty() && !parsed.errors.empty()) {
    print_errors(parsed.errors);
  } else if (!parsed.errors.empty()) {
    message +=
        "; " + counted(parsed.errors.size(), "error") + " in the rules, see `jetmem rules check`";
  }
  warn("rules explain", message + "; `jetmem rules list` lists them");
  return kExitUsage;
}

int run_rules_explain(const ExplainOptions& options) {
  DeviceClient client("rules explain", options);
  const auto& settings = client.settings();
  if (!settings) return exit_code(settings.error().code);
  std::size_t files = 0;
  const ParsedRules parsed = read_rules(options.rules, settings->rules, files);
  const Rule* rule = parsed.rules.find(options.name);
  if (rule == nullptr) return no_such_rule(options.name, options.rules, parsed);
  const auto requested = request_alerts(options, client);
  const AlertsAnswer::Rule* now = requested ? find_rule(requested->answer, *rule) : nullptr;

  put(rule->name + ": " + std::string(severity_name(rule->severity)) + ", " +
      location(rule->file, rule->at) + "\n\n");
  put_conditions(*rule, now);
  put_thresholds(*rule, parsed.rules);
  put_texts(*rule, runbook_page(settings->rules.runbook_directory(), *rule));
  // To be copied: on one line, however long.
  put("\nPromQL:\n  " + promql_expression(*rule) + "\n");
  if (requested) {
    put_state(*requested, now);
    return kExitOk;
  }
  return failed("rules explain", Error(requested.error()).within("no values"));
}

void add_rules_explain(const Command& rules) {
  const Command command =
      rules.add("explain", "What a rule means, its PromQL, and the values of its conditions now");
  auto& options = command.runs(run_rules_explain);
  command.option("NAME", options.name, "", "The alert").required();
  add_rule_paths(command, options.rules);
  command.device();
  command.footer(
      "The values come from jetmemd, or from one reading if none answers (like jetmem alerts). For "
      "rules in PATH they come from one reading, as no daemon has loaded them.");
  command.exit_status("0 if there are values");
}

}  // namespace

void add_rules_command(const Command& program) {
  const Command rules = program.add("rules", "Check, list, explain or export the alert rules");
  rules.require_command();
  for (const RulesCommand& each : kCommands) {
    const Command command = rules.add(each.name, each.help);
    auto& options = command.runs(run_rules);
    options.command = &each;
    command.without_root();
    add_rule_paths(command, options.named);
    command.config();
    if (each.run == run_list) command.json("As JSON");
    if (each.run == run_export) {
      command
          .option("--runbooks", options.runbooks, "URL",
                  "Address of a runbook for runbook_url, with NAME for the page's name; without "
                  "NAME, of a folder that holds NAME.md")
          .check(problem_of_runbooks)
          .show_default();
      command
          .option("--file", options.file, "FILE",
                  "Which rules: jetmem, dead-man, textfile or fleet")
          .one_of({std::string(kDeviceRules), "dead-man", "textfile", "fleet"})
          .show_default();
    }
    command.footer(each.footer);
    command.exit_status(each.exit_status);
  }
  add_rules_explain(rules);
}

}  // namespace jetmem
