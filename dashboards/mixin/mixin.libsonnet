// SPDX-License-Identifier: Apache-2.0
// jetmem's dashboards and rules as a monitoring mixin, for jsonnet 0.18 or later and for what reads mixins (mixtool, Tanka,
// kube-prometheus). Everything comes from the files beside it; docs/grafana.md has an example.
local rules = {
  jetmem: std.parseYaml(importstr '../prometheus/jetmem.rules.yml').groups,
  'dead-man': std.parseYaml(importstr '../prometheus/dead-man.rules.yml').groups,
  textfile: std.parseYaml(importstr '../prometheus/textfile.rules.yml').groups,
};

local isRecord(rule) = std.objectHas(rule, 'record');
local isRecords(group) = std.length(group.rules) > 0 && isRecord(group.rules[0]);

{
  _config+:: {
    // The scrape job of the devices.
    jetmemJob: 'jetmem',
    // The address of a runbook, with %s for its name. null: the page that each device serves.
    runbookURLPattern: null,
    // Also the alerts for devices whose values come through a node_exporter.
    textfile: false,
    // As grafanaDashboards' initial choices: a data source, and how a browser reaches a device's page.
    datasource: 'default',
    deviceScheme: 'http',
    grafanaTags: ['jetmem'],
  },

  local config = self._config,

  local page(url) = local parts = std.split(url, '/'); parts[std.length(parts) - 1],

  local adapted(rule) = rule {
    expr: std.strReplace(rule.expr, 'job="jetmem"', 'job="%s"' % config.jetmemJob),
    [if std.objectHas(rule, 'annotations') && std.objectHas(rule.annotations, 'runbook_url') then 'annotations']+: {
      runbook_url:
        if config.runbookURLPattern == null
        then std.strReplace(rule.annotations.runbook_url, 'job="jetmem"', 'job="%s"' % config.jetmemJob)
        else std.strReplace(config.runbookURLPattern, '%s', page(rule.annotations.runbook_url)),
    },
  },

  local groups = [
    group { rules: [adapted(rule) for rule in group.rules] }
    for group in rules.jetmem + rules['dead-man'] + (if config.textfile then rules.textfile else [])
  ],

  prometheusAlerts+:: {
    groups+: [group for group in groups if !isRecords(group)],
  },

  prometheusRules+:: {
    groups+: [group for group in groups if isRecords(group)],
  },

  local chosen = { datasource: config.datasource, scheme: config.deviceScheme },

  local dashboard(made) = made {
    tags: config.grafanaTags,
    templating+: {
      list: [
        if std.objectHas(chosen, variable.name)
        then variable { current+: { text: chosen[variable.name], value: chosen[variable.name] } }
        else variable
        for variable in made.templating.list
      ],
    },
  },

  grafanaDashboards+:: {
    'jetmem-device.json': dashboard(import '../grafana/jetmem-device.json'),
    'jetmem-fleet.json': dashboard(import '../grafana/jetmem-fleet.json'),
    'jetmem-incident.json': dashboard(import '../grafana/jetmem-incident.json'),
  },
}
