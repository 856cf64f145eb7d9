// SPDX-License-Identifier: Apache-2.0
#include "rules/export/prometheus_rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rules/export/condition_text.h"
#include "rules/export/promql.h"
#include "rules/model/texts.h"

namespace jetmem {
namespace {

// In single quotes, where only those have to be doubled. What cannot stand there goes in double
// ones: a string of JSON is one of YAML.
std::string yaml_text(std::string_view text) {
  const bool is_plain = std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
  });
  if (!is_plain) {
    return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  }
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

void line(std::string& out, std::size_t indent, std::string_view key, std::string_view value) {
  out.append(indent, ' ').append(key).append(": ").append(value).append("\n");
}

}  // namespace

std::string prometheus_rules(const RuleSet& rules, std::chrono::milliseconds interval,
                             std::string_view runbooks) {
  std::string out =
      "# jetmem's rules for Prometheus 2.42 or later, written by `jetmem rules export`: edit the "
      "rules, not\n"
      "# this file. Each device evaluates the same rules itself; this file is for the fleet.\n"
      "groups:\n"
      "  - name: jetmem\n";
  line(out, 4, "interval", promql_duration(interval));
  if (rules.rules.empty()) {
    out.append("    rules: []\n");
    return out;
  }
  out.append("    rules:\n");
  for (const Rule& rule : rules.rules) {
    const ValueUnit unit = value_unit(rule.when.front());
    const auto annotation = [&](std::string_view key, const std::string& text) {
      if (!text.empty()) line(out, 10, key, yaml_text(prometheus_text(text, unit)));
    };
    line(out, 6, "- alert", rule.name);
    line(out, 8, "expr", yaml_text(promql_expression(rule)));
    if (rule.hold.count() > 0) line(out, 8, "for", promql_duration(rule.hold));
    if (rule.keep_firing_for.count() > 0) {
      line(out, 8, "keep_firing_for", promql_duration(rule.keep_firing_for));
    }
    out.append("        labels:\n");
    line(out, 10, "severity", severity_name(rule.severity));
    out.append("        annotations:\n");
    annotation("summary", rule.texts.summary);
    annotation("cause", rule.texts.cause);
    annotation("remedy", rule.texts.remedy);
    const std::string page = runbook_page(runbooks, rule);
    if (!page.empty()) line(out, 10, "runbook_url", yaml_text(page));
  }
  return out;
}

}  // namespace jetmem
