// SPDX-License-Identifier: Apache-2.0
// docs/metrics.md, made from the descriptors, so that it cannot be wrong.
#include <gtest/gtest.h>

#include <set>

#include "base/text/units.h"
#include "collectors/sampler/registry.h"
#include "collectors/sampler/sampler.h"
#include "daemon/alerts/notifier.h"
#include "daemon/alerts/rule_evaluator.h"
#include "daemon/capture/incident_capture.h"
#include "daemon/children/memory_protection.h"
#include "daemon/http/web_metrics.h"
#include "daemon/parts/children.h"
#include "daemon/parts/daemon_metrics.h"
#include "daemon/parts/kernel_log_follower.h"
#include "daemon/state/history_feed.h"
#include "daemon/state_file_metrics.h"
#include "health/registry.h"
#include "report/exposition/exposition.h"
#include "tests/update.h"

namespace jetmem {
namespace {

struct MetricGroup {
  std::string title;  // "Source meminfo"
  std::string about;  // a sentence or two; empty for none
  std::span<const Descriptor> metrics;
};

// A section per group, a table of its metrics. Companions (worst of the last minute) are listed as
// metrics of their own, as Prometheus sees them.
void append_row(std::string& out, std::string_view name, const Descriptor& d,
                std::string_view prefix) {
  // Not `x_*`: what is behind the star is not the kernel's.
  if (d.type == MetricType::kHistogram) name.remove_suffix(2);
  out.append("| `").append(name).append("` | ");
  out.append(type_name(d.type)).append(" | ");
  const char* separator = "";
  for (const std::string_view label : d.labels) {
    if (label.empty()) break;
    out.append(separator).append("`").append(label).append("`");
    separator = ", ";
  }
  out.append(" | ").append(std::to_string(d.max_series)).append(" | ");
  out.append(prefix).append(d.help).append(" |\n");
}

std::string render_reference(const std::vector<MetricGroup>& groups) {
  std::string out =
      R"(# Metrics

For whoever writes a query, a rule or a panel: every metric that jetmem exports, with its unit,
labels and meaning. Generated from the code (`scripts/update-golden`); a test fails when it is stale.

A `*` in a name stands for the name that the kernel prints. *Series* is the most that a
metric may have; what exceeds it is omitted and counted in
`jetmem_source_dropped_samples`. A value that could not be read is absent, never 0.
A histogram has the series `_bucket`, `_sum` and `_count`.
)";
  for (const MetricGroup& group : groups) {
    out.append("\n## ").append(group.title).append("\n\n");
    if (!group.about.empty()) out.append(group.about).append("\n\n");
    out.append("| metric | type | labels | series | meaning |\n|---|---|---|---|---|\n");
    for (const Descriptor& d : group.metrics) {
      append_row(out, d.name, d, "");
      if (d.worst == Worst::kNone) continue;
      append_row(out, worst_name(d.name, d.worst), d,
                 d.worst == Worst::kMin ? "Lowest value within the last minute: "
                                        : "Highest value within the last minute: ");
    }
  }
  return out;
}

std::vector<MetricGroup> all_groups() {
  std::vector<MetricGroup> groups;
  for (const SourceInfo* info : all_source_infos()) {
    std::string about = "Content: " + std::string(info->what);
    if (info->access == Access::kStream) {
      about += ". Followed line by line; jetmem-reader opens";
    } else if (info->access == Access::kProgram) {
      about += ". Printed every " + format_duration(info->interval) +
               " by a program that the daemon runs; under --root read from";
    } else {
      about += ". Read every " + format_duration(info->interval) + " by " +
               (info->access == Access::kReader ? "jetmem-reader" : "the daemon") + " from";
    }
    const char* separator = " ";
    for (const std::string_view path : info->paths) {
      about.append(separator).append("`").append(path).append("`");
      separator = ", ";
    }
    about += ".";
    if (!info->grant.empty()) about += " If denied: " + std::string(info->grant) + ".";
    groups.push_back({"Source " + std::string(info->name), about, info->metrics});
  }
  static const auto derived_metrics = make_derived_metrics();
  for (const auto& derived_metric : derived_metrics) {
    groups.push_back({"Derived: " + std::string(derived_metric->info().name),
                      "Put together from the readings of several sources.",
                      derived_metric->info().metrics});
  }
  groups.push_back(
      {"Alerts", "The state of the rules as evaluated on this device.", RuleEvaluator::metrics()});
  groups.push_back({"Notifications", "Only while alerts.program is set.", notifier_metrics()});
  groups.push_back({"The flight recorder",
                    "What is kept on the disk; absent when it is switched off.",
                    HistoryFeed::metrics()});
  groups.push_back({"Captures", "Bundles written by themselves when a critical alert fires.",
                    incident_capture_metrics()});
  groups.push_back({"State of the sources", "One set for each source.", sampler_metrics()});
  groups.push_back({"The daemon", "jetmem's own cost and how well it works.", daemon_metrics()});
  groups.push_back({"Protection of the daemon", "What keeps jetmemd's memory when memory is short.",
                    memory_protection_metrics()});
  groups.push_back(
      {"Messages of the site's own", "What messages.directory has.", KernelLogFollower::metrics()});
  groups.push_back({"State files", "What a restart of jetmemd reads back, one series per file.",
                    kStateFileMetrics});
  for (const auto metrics : program_metrics()) {
    groups.push_back({"Programs that the daemon runs", "Starts, failures and output.", metrics});
  }
  groups.push_back(
      {"The web server",
       "Current at each scrape, even when the loop hangs. What is about TLS and passwords only "
       "where http.web_config asks for them. `process_*` are jetmemd's by the names that all "
       "programs use for theirs; only `/metrics` has them.",
       web_metrics()});
  return groups;
}

TEST(MetricsReference, IsFresh) {
  expect_equals_file(render_reference(all_groups()), JETMEM_DOCS "/metrics.md");
}

// What Prometheus' own conventions and the reader at night ask of every metric.
TEST(MetricsReference, EveryMetricIsWellNamedAndExplained) {
  std::set<std::string> names;
  for (const MetricGroup& group : all_groups()) {
    for (const Descriptor& d : group.metrics) {
      const std::string name(d.name);
      EXPECT_TRUE(names.insert(name).second) << name << " is declared twice";
      EXPECT_TRUE(name.starts_with("jetmem_") || name.starts_with("process_")) << name;
      EXPECT_EQ(name.size() >= 6 && name.substr(name.size() - 6) == "_total",
                d.type == MetricType::kCounter)
          << name << ": counters, and only counters, end in _total";
      EXPECT_GE(d.help.size(), 10U) << name << " needs a help text";
      EXPECT_EQ(d.help.find_first_of("\n\\|"), std::string_view::npos) << name;
      EXPECT_GE(d.max_series, 1U) << name;
      EXPECT_TRUE(!d.labels[0].empty() || d.max_series == 1 || d.is_pattern())
          << name << " has no labels and more than one series";
      for (const char* bad : {"_ms", "_kb", "_mb", "_percent", "_millidegrees"}) {
        EXPECT_EQ(name.find(bad), std::string::npos) << name << ": base units only";
      }
    }
  }
}

// OpenMetrics names a counter's family without "_total".
TEST(MetricsReference, NoFamilyHasTheNameOfACounterWithoutItsSuffix) {
  std::set<std::string> families;
  for (const MetricGroup& group : all_groups()) {
    for (const Descriptor& d : group.metrics) {
      std::string family(d.name);
      if (d.type == MetricType::kCounter) family.resize(family.size() - 6);
      if (d.type == MetricType::kHistogram) {
        ASSERT_TRUE(family.ends_with("_seconds_*")) << family;
        family.resize(family.size() - 2);
        for (const char* part : {"_bucket", "_sum", "_count"}) {
          EXPECT_TRUE(families.insert(family + part).second) << family << part;
        }
      }
      EXPECT_TRUE(families.insert(family).second) << family;
      if (d.worst != Worst::kNone) {
        EXPECT_TRUE(families.insert(worst_name(d.name, d.worst)).second);
      }
    }
  }
}

}  // namespace
}  // namespace jetmem
