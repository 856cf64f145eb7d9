// SPDX-License-Identifier: Apache-2.0
// jetmem rules check|export|explain|list|catalog: the rules by which alerts fire.

#include <cstdio>

#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/client/rule_input.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/rules/rules_explain.h"
#include "cli/text/events/event_text.h"
#include "report/answers/answer_head.h"
#include "rules/export/message_catalog.h"
#include "rules/export/prometheus_rules.h"

namespace jetmem {
namespace {

struct Selection {
  NamedRules named;
  std::vector<std::string> config;
  std::string runbooks{kDefaultRunbooks};
  bool json = false;
};

void print_config_errors(const std::vector<ConfigError>& errors) {
  if (!errors.empty()) std::fprintf(stderr, "%s\n", describe(errors).c_str());
}

int run_check(const Selection& needed) {
  const auto settings = settings_for("rules check", needed.config);
  if (!settings) return kExitUsage;
  std::size_t files = 0;
  const ParsedRules parsed = read_rules(needed.named, settings->rules, files);
  print_config_errors(parsed.errors);
  const std::string count =
      counted(parsed.rules.rules.size(), "rule") + " in " + counted(files, "file");
  if (!parsed.errors.empty()) {
    std::fprintf(stderr, "%s; valid: %s\n", counted(parsed.errors.size(), "error").c_str(),
                 count.c_str());
    return kExitFailed;
  }
  std::printf("ok: %s\n", count.c_str());
  return kExitOk;
}

// A part of the rules would pass for all of them: it is all or nothing.
int run_export(const Selection& needed) {
  const auto settings = settings_for("rules export", needed.config);
  if (!settings) return kExitUsage;
  std::size_t files = 0;
  const ParsedRules parsed = read_rules(needed.named, settings->rules, files);
  if (!parsed.errors.empty()) {
    print_config_errors(parsed.errors);
    std::fprintf(stderr, "jetmem rules export: nothing written: %s\n",
                 counted(parsed.errors.size(), "error").c_str());
    return kExitFailed;
  }
  put(prometheus_rules(parsed.rules, settings->rules.interval, needed.runbooks));
  return kExitOk;
}

int run_catalog(const Selection& needed) {
  const auto settings = settings_for("rules catalog", needed.config);
  if (!settings) return kExitUsage;
  std::size_t files = 0;
  const ParsedRules parsed = read_rules(needed.named, settings->rules, files);
  print_config_errors(parsed.errors);
  put(message_catalog(parsed.rules));
  return parsed.errors.empty() ? kExitOk : kExitFailed;
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

int run_list(const Selection& needed) {
  const auto settings = settings_for("rules list", needed.config);
  if (!settings) return kExitUsage;
  std::size_t files = 0;
  const ParsedRules parsed = read_rules(needed.named, settings->rules, files);
  if (needed.json) {
    put(list_json(parsed));
    print_config_errors(parsed.errors);
    return parsed.errors.empty() ? kExitOk : kExitFailed;
  }
  std::printf("%-30s %-8s %6s  %s\n", "ALERT", "SEVERITY", "FOR", "WHERE");
  for (const Rule& rule : parsed.rules.rules) {
    std::printf("%-30s %-8s %6s  %s:%d\n", rule.name.c_str(),
                std::string(severity_name(rule.severity)).c_str(),
                format_duration(rule.hold).c_str(), printable(rule.file, 1000).c_str(),
                rule.at.line);
  }
  for (const std::string& name : parsed.rules.disabled) {
    std::printf("%-30s %-8s\n", printable(name).c_str(), "disabled");
  }
  print_config_errors(parsed.errors);
  return parsed.errors.empty() ? kExitOk : kExitFailed;
}

struct RulesCommand {
  const char* name;
  const char* help;
  const char* footer;
  int (*run)(const Selection& needed);
};

constexpr RulesCommand kCommands[] = {
    {"check", "Check the rules and show each error",
     "Exit status: 0 if they are valid, 1 if there are errors, 2 on a wrong command line.",
     run_check},
    {"list", "List the rules and where each is defined",
     "Exit status: 0; 1 if there are errors (on standard error), 2 on a wrong command line.",
     run_list},
    {"export", "Print the rules as a rule file of Prometheus",
     "For Prometheus 2.42 or later. Prints nothing if there is an error.\n"
     "Exit status: 0 if it was written, 1 if there are errors, 2 on a wrong command line.",
     run_export},
    {"catalog", "Print the texts that journalctl -x shows below alerts",
     "The catalog of jetmem's own alerts is installed. For a site's own rules:\n"
     "  jetmem rules catalog /etc/jetmem/rules.d > /etc/systemd/catalog/jetmem-local.catalog\n"
     "  journalctl --update-catalog\n"
     "Exit status: 0; 1 if there are errors (on standard error), 2 on a wrong command line.",
     run_catalog},
};

}  // namespace

void add_rules_command(const Command& program) {
  const Command rules = program.add("rules", "Check, list, explain or export the alert rules");
  rules.require_command();
  for (const RulesCommand& each : kCommands) {
    const Command command = rules.add(each.name, each.help);
    auto& options = command.runs(each.run);
    add_rule_paths(command, options.named);
    command.option("--config", options.config, "FILE", "Settings file (default: those of jetmemd)");
    if (each.run == run_list) command.flag("--json", options.json, "As JSON");
    if (each.run == run_export) {
      command
          .option("--runbooks", options.runbooks, "URL",
                  "Base address of the runbooks, for runbook_url")
          .show_default();
    }
    command.footer(each.footer);
  }
  add_rules_explain(rules);
}

}  // namespace jetmem
