// jetmem config check|show: the settings as jetmemd would read them.

#include <cstdio>
#include <ctime>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "collectors/registry.h"
#include "config/load.h"
#include "config/schema.h"
#include "config/tls_material.h"
#include "config/web_config.h"
#include "report/answers/answer_head.h"

namespace jetmem {
namespace {

// With the files that it names. As whoever runs this may read them, which jetmemd perhaps may not.
bool check_web_config(const std::string& file) {
  if (file.empty()) return true;
  const auto config = load_web_config(file);
  if (!config) {
    std::fprintf(stderr, "%s\n", describe(config.error()).c_str());
    return false;
  }
  for (const ConfigError& remark : remarks_on_rights(*config)) {
    std::fprintf(stderr, "%s\n", describe(remark).c_str());
  }
  if (!config->has_tls) return true;
  const auto material = load_tls_material(*config);
  if (!material) {
    std::fprintf(stderr, "%s\n", describe(material.error()).c_str());
    return false;
  }
  for (const ConfigError& remark : material->remarks) {
    std::fprintf(stderr, "%s\n", describe(remark).c_str());
  }
  const std::string trouble = validity_trouble(*material, std::time(nullptr));
  if (!trouble.empty()) {
    std::fprintf(stderr, "%s: the certificate of %s %s\n", printable(file, 4096).c_str(),
                 material->subject.c_str(), trouble.c_str());
    return false;
  }
  return true;
}

int run_check(const std::vector<std::string>& named, bool) {
  const auto loaded = load_named_or_default(named, known_sources());
  if (!loaded) {
    std::fprintf(stderr, "%s\n", describe(loaded.error()).c_str());
    return kExitUsage;
  }
  if (!check_web_config(loaded->values.http.web_config)) return kExitUsage;
  std::printf("ok\n");
  return kExitOk;
}

std::string settings_json(const LoadedSettings& loaded) {
  nlohmann::ordered_json out{{"schema", "jetmem-settings/1"}};
  nlohmann::ordered_json& settings = out["settings"] = nlohmann::ordered_json::object();
  const Schema schema = Schema::of(loaded.values);
  for (const Setting& setting : schema.settings()) {
    const auto origin = loaded.origins.find(setting.key);
    settings[std::string(setting.key)] = {
        {"value", setting.show(loaded.values)},
        {"from", origin == loaded.origins.end() ? "unknown" : printable(origin->second, 4096)}};
  }
  return answer_text(out);
}

int run_show(const std::vector<std::string>& named, bool json) {
  const auto loaded = load_named_or_default(named, known_sources());
  if (!loaded) {
    std::fprintf(stderr, "%s\n", describe(loaded.error()).c_str());
    return kExitUsage;
  }
  std::fputs((json ? settings_json(*loaded) : show_settings(*loaded)).c_str(), stdout);
  return kExitOk;
}

}  // namespace

void add_config_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand("config", "Check or show the settings of jetmemd");
  command->require_subcommand(1);
  struct Action {
    const char* name;
    const char* help;
    int (*run)(const std::vector<std::string>&, bool json);
  };
  for (const Action& action :
       {Action{"check", "Say whether the settings are right, or what is wrong and where",
               run_check},
        Action{"show", "Print the settings in force and where each comes from", run_show}}) {
    CLI::App* sub = command->add_subcommand(action.name, action.help);
    auto files = std::make_shared<std::vector<std::string>>();
    sub->add_option("FILE", *files,
                    "Settings files, later ones override earlier ones (default: "
                    "/etc/jetmem/jetmem.yaml and /etc/jetmem/conf.d/*.yaml)")
        ->type_name("");
    auto json = std::make_shared<bool>(false);
    if (action.run == run_show) {
      sub->add_flag("--json", *json, "As JSON; values are text, as in a settings file");
    }
    sub->footer("Exit status: 0 when the settings are right, 2 when they are not.");
    sub->callback(
        [files, json, &context, run = action.run] { context.status = run(*files, *json); });
  }
}

}  // namespace jetmem
