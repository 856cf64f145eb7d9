// SPDX-License-Identifier: Apache-2.0
// jetmem config check|show: the settings as jetmemd would read them.

#include <cstdio>
#include <ctime>

#include "base/text/print_error.h"
#include "base/text/text.h"
#include "cli/client/rule_input.h"
#include "cli/commands.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "collectors/sampler/registry.h"
#include "config/load.h"
#include "config/schema.h"
#include "config/web/tls_material.h"
#include "config/web/web_config.h"
#include "report/answers/answer_head.h"

namespace jetmem {
namespace {

// Programs may be installed later: jetmemd starts without them.
void warn_of_programs(const LoadedSettings& loaded) {
  const Settings defaults = default_settings(known_sources());
  const auto check = [&](std::string_view key, const std::string& program,
                         const std::string& usual) {
    if (program.empty() || program == usual) return;
    const std::string problem = program_problem(program);
    if (problem.empty()) return;
    print_error(describe(error_of_setting(
        loaded, key,
        printable(program, 4096) + ": " + problem + "; it cannot run until that changes")));
  };
  const Settings& values = loaded.values;
  check("alerts.program", values.alerts.program, defaults.alerts.program);
  check("probe.program", values.probe.program, defaults.probe.program);
  check("reader.program", values.reader.program, defaults.reader.program);
  check("tegrastats.program", values.tegrastats.program, defaults.tegrastats.program);
}

// Includes the files that it names, read with the rights of this user, not those of jetmemd.
bool check_web_config(const LoadedSettings& loaded) {
  const std::string& file = loaded.values.http.web_config;
  if (file.empty()) return true;
  const auto config = load_web_config(file);
  if (!config) {
    for (const ConfigError& error : config.error()) {
      // Of the file as a whole: its name may be what is wrong.
      print_error(error.line > 0
                      ? describe(error)
                      : describe(error_of_setting(loaded, "http.web_config", describe(error))));
    }
    return false;
  }
  for (const ConfigError& warning : permission_warnings(*config)) {
    print_error(describe(warning));
  }
  if (!config->has_tls) return true;
  const auto material = load_tls_material(*config);
  if (!material) {
    print_errors(material.error());
    return false;
  }
  for (const ConfigError& warning : material->warnings) {
    print_error(describe(warning));
  }
  const std::string problem = validity_error(*material, std::time(nullptr));
  if (!problem.empty()) {
    print_error(file + ": the certificate of " + material->subject + " " + problem);
    return false;
  }
  return true;
}

struct ConfigOptions : Target {
  std::vector<std::string> files;
};

std::string settings_json(const LoadedSettings& loaded) {
  return json::write_document(1, [&](json::Fields& v) {
    v.schema("jetmem-settings/1");
    v.object("settings", [&](json::Fields& settings) {
      const Schema schema = Schema::of(loaded.values);
      for (const Setting& setting : schema.settings()) {
        const auto origin = loaded.origins.find(setting.key);
        settings.object(std::string(setting.key).c_str(), [&](json::Fields& each) {
          each.output("value", setting.show(loaded.values));
          each.output("from", origin == loaded.origins.end() ? std::string("unknown")
                                                             : printable(origin->second, 4096));
        });
      }
    });
  });
}

int run_check(const ConfigOptions&, const LoadedSettings& loaded) {
  warn_of_programs(loaded);
  if (!check_web_config(loaded)) return kExitData;
  std::printf("ok\n");
  return kExitOk;
}

int run_show(const ConfigOptions& options, const LoadedSettings& loaded) {
  put(options.json ? settings_json(loaded) : show_settings(loaded));
  return kExitOk;
}

template <int (*kRun)(const ConfigOptions&, const LoadedSettings&)>
int run_config(const ConfigOptions& options) {
  const std::vector<std::string>& named = options.config.empty() ? options.files : options.config;
  const auto loaded = load_named_or_default(named, known_sources());
  if (loaded) return kRun(options, *loaded);
  print_errors(loaded.error());
  return exit_code(settings_error(named));
}

ConfigOptions& add_config(const Command& command, int (*run)(const ConfigOptions&)) {
  auto& options = command.runs(run);
  command
      .option("FILE", options.files, "",
              "Settings files, later ones override earlier ones (default: "
              "/etc/jetmem/jetmem.yaml and /etc/jetmem/conf.d/*.yaml)")
      .excludes({"--config"});
  command.config("Same as FILE; jetmemd's name for it");
  command.without_root();
  command.exit_status("0 if the settings are valid");
  return options;
}

}  // namespace

void add_config_command(const Command& program) {
  const Command command = program.add("config", "Check or show the settings of jetmemd");
  command.require_command();
  add_config(command.add("check", "Check the settings and show each error"), run_config<run_check>);
  const Command show = command.add("show", "Print the settings in force and the origin of each");
  add_config(show, run_config<run_show>);
  show.json("As JSON; values are text, as in a settings file");
}

}  // namespace jetmem
