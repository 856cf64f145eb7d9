// jetmem rules check|export|explain|list|catalog: the rules by which alerts fire.

#include <cstdio>

#include "base/text.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/event_text.h"
#include "cli/exit_codes.h"
#include "cli/rule_input.h"
#include "cli/rules_explain.h"
#include "health/rules/message_catalog.h"
#include "report/answers/answer_head.h"
#include "report/prometheus_rules.h"

namespace jetmem {
namespace {

struct Wanted {
  NamedRules named;
  std::vector<std::string> config;
  std::string runbooks{kDefaultRunbooks};
  bool json = false;
};

void say_mistakes(const std::vector<ConfigError>& errors) {
  if (!errors.empty()) std::fprintf(stderr, "%s\n", describe(errors).c_str());
}

int run_check(const Wanted& wanted) {
  const auto settings = settings_for("rules check", wanted.config);
  if (!settings) return kExitUsage;
  std::size_t files = 0;
  const ParsedRules parsed = read_rules(wanted.named, settings->rules, files);
  say_mistakes(parsed.errors);
  const std::string count =
      counted(parsed.rules.rules.size(), "rule") + " in " + counted(files, "file");
  if (!parsed.errors.empty()) {
    std::fprintf(stderr, "%s; right: %s\n", counted(parsed.errors.size(), "mistake").c_str(),
                 count.c_str());
    return kExitFailed;
  }
  std::printf("ok: %s\n", count.c_str());
  return kExitOk;
}

// A part of the rules would pass for all of them: it is all or nothing.
int run_export(const Wanted& wanted) {
  const auto settings = settings_for("rules export", wanted.config);
  if (!settings) return kExitUsage;
  std::size_t files = 0;
  const ParsedRules parsed = read_rules(wanted.named, settings->rules, files);
  if (!parsed.errors.empty()) {
    say_mistakes(parsed.errors);
    std::fprintf(stderr, "jetmem rules export: nothing written: %s\n",
                 counted(parsed.errors.size(), "mistake").c_str());
    return kExitFailed;
  }
  const std::string out = prometheus_rules(parsed.rules, settings->rules.interval, wanted.runbooks);
  std::fwrite(out.data(), 1, out.size(), stdout);
  return kExitOk;
}

int run_catalog(const Wanted& wanted) {
  const auto settings = settings_for("rules catalog", wanted.config);
  if (!settings) return kExitUsage;
  std::size_t files = 0;
  const ParsedRules parsed = read_rules(wanted.named, settings->rules, files);
  say_mistakes(parsed.errors);
  const std::string out = message_catalog(parsed.rules);
  std::fwrite(out.data(), 1, out.size(), stdout);
  return parsed.errors.empty() ? kExitOk : kExitFailed;
}

std::string list_json(const ParsedRules& parsed) {
  using Json = nlohmann::ordered_json;
  Json out{{"schema", "jetmem-rules/1"}};
  Json& rules = out["rules"] = Json::array();
  for (const Rule& rule : parsed.rules.rules) {
    rules.push_back(Json{{"name", rule.name},
                         {"severity", severity_name(rule.severity)},
                         {"for_seconds", to_seconds(rule.hold)},
                         {"file", printable(rule.file, 1000)},
                         {"line", rule.at.line}});
  }
  Json& disabled = out["disabled"] = Json::array();
  for (const std::string& name : parsed.rules.disabled) disabled.push_back(printable(name));
  out["mistakes"] = parsed.errors.size();
  return answer_text(out);
}

int run_list(const Wanted& wanted) {
  const auto settings = settings_for("rules list", wanted.config);
  if (!settings) return kExitUsage;
  std::size_t files = 0;
  const ParsedRules parsed = read_rules(wanted.named, settings->rules, files);
  if (wanted.json) {
    const std::string text = list_json(parsed);
    std::fwrite(text.data(), 1, text.size(), stdout);
    say_mistakes(parsed.errors);
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
  say_mistakes(parsed.errors);
  return parsed.errors.empty() ? kExitOk : kExitFailed;
}

CLI::App* add_inputs(CLI::App* command, Wanted& wanted) {
  add_rule_paths(command, wanted.named);
  command->add_option("--config", wanted.config, "Settings file (default: those of jetmemd)")
      ->type_name("FILE");
  return command;
}

}  // namespace

void add_rules_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand("rules", "Check, list, explain or export the alert rules");
  command->require_subcommand(1);

  auto wanted = std::make_shared<Wanted>();
  CLI::App* check = add_inputs(
      command->add_subcommand("check", "Say whether rules are right, or what is wrong and where"),
      *wanted);
  check->footer(
      "Exit status: 0 when they are right, 1 when there are mistakes, 2 on a wrong command line.");
  check->callback([wanted, &context] { context.status = run_check(*wanted); });

  CLI::App* list = add_inputs(
      command->add_subcommand("list", "List the rules, and where each is written"), *wanted);
  list->add_flag("--json", wanted->json, "As JSON");
  list->footer(
      "Exit status: 0; 1 when there are mistakes (said on stderr), 2 on a wrong command line.");
  list->callback([wanted, &context] { context.status = run_list(*wanted); });

  CLI::App* to_prometheus = add_inputs(
      command->add_subcommand("export", "Print the rules as a rule file of Prometheus"), *wanted);
  to_prometheus
      ->add_option("--runbooks", wanted->runbooks, "Where the runbooks are, for runbook_url")
      ->type_name("URL")
      ->capture_default_str();
  to_prometheus->footer(
      "For Prometheus 2.42 or later. Nothing is printed where there is a mistake.\n"
      "Exit status: 0 when it was written, 1 when there are mistakes, 2 on a wrong command line.");
  to_prometheus->callback([wanted, &context] { context.status = run_export(*wanted); });

  CLI::App* catalog = add_inputs(
      command->add_subcommand("catalog", "Print what journalctl -x says below alerts"), *wanted);
  catalog->footer(
      "jetmem's own alerts are in the catalog that is installed. For a site's own rules:\n"
      "  jetmem rules catalog /etc/jetmem/rules.d > /etc/systemd/catalog/jetmem-local.catalog\n"
      "  journalctl --update-catalog\n"
      "Exit status: 0; 1 when there are mistakes (said on stderr), 2 on a wrong command line.");
  catalog->callback([wanted, &context] { context.status = run_catalog(*wanted); });

  add_rules_explain(*command, context);
}

}  // namespace jetmem
