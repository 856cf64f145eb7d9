#include "cli/captured_alerts.h"

#include <filesystem>
#include <optional>

#include "base/root.h"
#include "base/snapshot.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utc_time.h"
#include "cli/judged_now.h"
#include "cli/rule_input.h"
#include "collectors/registry.h"
#include "config/load.h"

namespace jetmem {
namespace {

constexpr const char* kAlerts = "/jetmem/alerts.json";
constexpr const char* kConfig = "/jetmem/config";
constexpr std::size_t kMostConfig = 1U << 20;

// Nothing: there is none, or no daemon judged.
std::optional<AlertsAnswer> daemons_verdict(const Root& root, std::vector<std::string>& notes) {
  int error = 0;
  const UniqueFd fd = root.open_file(kAlerts, error);
  if (!fd.valid() && error == ENOENT) return std::nullopt;
  ByteBuffer bytes;
  if (fd.valid()) error = read_to_end(fd.get(), kMaxAlertsJson, bytes);
  Result<AlertsAnswer> answer = fail(Errc::kIo, "cannot be read");
  if (error == 0) answer = parse_alerts(bytes.view());
  if (!answer) {
    notes.push_back("what jetmemd judged at the capture is not known: jetmem/alerts.json: " +
                    printable(answer.error().message, 200) + "; judged anew from one look");
    return std::nullopt;
  }
  if (answer->one_look) return std::nullopt;
  return std::move(*answer);
}

// The rules that held there, not those of the machine that looks at them.
RulesSettings captured_rules(const std::string& directory, const Root& root, RulesSettings settings,
                             std::vector<std::string>& notes) {
  std::vector<std::string> names;
  bool cut = false;
  if (root.list(kConfig, 64, names, cut) != 0) return settings;
  int error = 0;
  const UniqueFd fd = root.open_file(std::string(kConfig) + "/jetmem.yaml", error);
  ByteBuffer bytes;
  if (fd.valid()) error = read_to_end(fd.get(), kMostConfig, bytes);
  if (error == 0) {
    const ConfigText text{"jetmem/config/jetmem.yaml", bytes.view()};
    auto loaded = parse_settings({&text, 1}, known_sources());
    if (loaded) {
      settings = loaded->values.rules;
    } else {
      notes.push_back("jetmem/config/jetmem.yaml of the capture is not understood");
    }
  }
  settings.directory = directory + kConfig + "/rules";
  return settings;
}

}  // namespace

AlertsAnswer captured_or_judged(const std::string& root, const OneShot& shot,
                                const RulesSettings& settings, std::vector<std::string>& notes) {
  RulesSettings rules = settings;
  if (const auto tree = root.empty() ? Result<Root>(Root::live()) : Root::at(root);
      tree && !tree->is_live()) {
    if (auto answer = daemons_verdict(*tree, notes)) {
      std::string when;
      if (answer->judged_wall) {
        when = " at " + utc_time(std::chrono::duration_cast<Nanoseconds>(
                            std::chrono::duration<double>(*answer->judged_wall)));
      }
      notes.push_back("alerts: as jetmemd judged" + when + ", before the capture");
      return std::move(*answer);
    }
    rules = captured_rules(root, *tree, settings, notes);
  }
  return judged_now(shot, rules_in_force(rules), rules);
}

}  // namespace jetmem
