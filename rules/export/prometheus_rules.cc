// SPDX-License-Identifier: Apache-2.0
#include "rules/export/prometheus_rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/units.h"
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

// As the monitoring mixins have it: one text. The CLI shows its two parts under these words.
std::string description(const RuleTexts& texts) {
  std::string out = texts.cause.empty() ? "" : "Cause: " + texts.cause;
  if (texts.remedy.empty()) return out;
  return out.append(out.empty() ? "" : " ").append("Remedy: ").append(texts.remedy);
}

constexpr std::string_view kPageName = "NAME";
constexpr std::string_view kLink = "          runbook_url: '";

}  // namespace

std::string runbook_url(std::string_view runbooks, std::string_view page) {
  std::string out(runbooks);
  if (const std::size_t at = out.find(kPageName); at != std::string::npos) {
    return out.replace(at, kPageName.size(), page);
  }
  while (out.ends_with('/')) out.pop_back();
  return out.append("/").append(page).append(".md");
}

std::string problem_of_runbooks(const std::string& runbooks) {
  for (const std::string_view begin : {"http://", "https://", "{{"}) {
    if (runbooks.starts_with(begin)) return {};
  }
  return "expected an address that begins with http:// or https://";
}

std::string prometheus_text_of(std::string_view name, std::string_view runbooks) {
  std::string out;
  for (const ConfigText& each : prometheus_texts()) {
    if (each.name != name) continue;
    // Line by line: in the file each link is the default one.
    std::string_view rest = each.text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
      const std::string_view text = rest.substr(0, end);
      rest.remove_prefix(end);
      const std::size_t page = text.rfind('/');
      if (text.starts_with(kLink) && page != std::string_view::npos) {
        const std::string_view quoted = text.substr(page + 1);
        const std::string url =
            runbooks == kDefaultRunbooks
                ? std::string(text.substr(kLink.size() - 1, text.size() - kLink.size()))
                : yaml_text(runbook_url(runbooks, quoted.substr(0, quoted.find('\''))));
        out.append(kLink.substr(0, kLink.size() - 1)).append(url).append("\n");
      } else {
        out.append(text);
      }
    }
  }
  return out;
}

std::string prometheus_rules(const RuleSet& rules, std::chrono::milliseconds interval,
                             std::string_view runbooks) {
  std::string out =
      "# jetmem's rules for Prometheus 2.42 or later, written by `jetmem rules export`: edit the "
      "rules, not\n"
      "# this file. Each device evaluates the same rules itself; this file is for the fleet.\n"
      "groups:\n"
      "  - name: jetmem\n";
  line(out, 4, "interval", format_duration(interval));
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
    if (rule.hold.count() > 0) line(out, 8, "for", format_duration(rule.hold));
    if (rule.keep_firing_for.count() > 0) {
      line(out, 8, "keep_firing_for", format_duration(rule.keep_firing_for));
    }
    out.append("        labels:\n");
    line(out, 10, "severity", severity_name(rule.severity));
    out.append("        annotations:\n");
    annotation("summary", rule.texts.summary);
    annotation("description", description(rule.texts));
    if (!rule.texts.runbook.empty()) {
      line(out, 10, "runbook_url", yaml_text(runbook_url(runbooks, rule.texts.runbook)));
    }
  }
  return out;
}

}  // namespace jetmem
