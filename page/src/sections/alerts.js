// SPDX-License-Identifier: Apache-2.0
// Firing and pending alerts, and rules whose state is unknown.

import {el} from '../dom.js';
import {count, duration, many, moment} from '../format.js';
import {badge} from '../level.js';
import {runbook, runbookButton} from '../runbook.js';
import {fill} from '../section.js';
import {table} from '../table.js';
import {short, words} from '../text.js';

const WORST_FIRST = ['critical', 'warning', 'info'];
const STATES = ['firing', 'pending', 'unknown', 'inactive'];
const MOST_SERIES = 8;

export const alerts = {
  id: 'alerts',
  title: 'Alerts',
  brief: ({alerts: {firing, pending} = {}}) =>
    firing === undefined
      ? ['not known']
      : [
          `${count(firing)} firing, ${count(pending ?? 0)} pending`,
          firing > 0 ? 'warning' : '',
        ],
  create(body, page, {unfold}) {
    fill(body, page, 'alerts', 15, (answer) => draw(answer, page));
    page.device.watch('alerts', 15, (answer) => answer && unfold(answer.counts?.firing > 0),
      () => false);
  },
};

function draw(answer, page) {
  const rules = answer.rules ?? [];
  const of = (state) =>
    rules.filter((rule) => rule.state === state).sort((a, b) => rank(a) - rank(b));
  const other = rules.filter((rule) => !STATES.includes(rule.state));
  return [
    summary(answer),
    configErrors(answer),
    ...[
      ...of('firing'),
      ...of('pending'),
      ...of('unknown').filter((rule) => found(rule).length > 0),
      ...other,
    ].map((rule) => card(rule, page)),
    blind(of('unknown').filter((rule) => found(rule).length === 0)),
    all(rules, answer.omitted?.rules ?? 0),
  ];
}

const found = (rule) => rule.alerts ?? [];
const rank = (rule) => (WORST_FIRST.indexOf(rule.severity) + 4) % 4;

function summary({counts = {}, evaluated = {}, omitted: left = {}}) {
  const parts = [
    [counts.firing, 'firing'],
    [counts.pending, 'pending'],
    [counts.unknown, 'unknown'],
    [counts.inactive, 'inactive'],
  ]
    .filter(([number]) => number !== undefined)
    .map(([number, what]) => `${count(number)} ${what}`);
  const notApplicable =
    counts.no_series > 0
      ? ` (${count(counts.no_series)} of the inactive are not applicable here)`
      : '';
  return el(
    'p',
    {class: 'quiet'},
    `Rules: ${parts.join(', ') || 'none'}${notApplicable}. `,
    evaluated.unix_seconds ? `Evaluated at ${moment(evaluated.unix_seconds)}. ` : '',
    left.alerts > 0 ? `${count(left.alerts)} more alerts omitted.` : '',
  );
}

function configErrors({config_errors: all = [], omitted: left = {}}) {
  if (all.length === 0) return null;
  return el(
    'div',
    {class: 'card warning', 'data-key': 'config-errors'},
    el('h3', {}, badge('warning', 'config errors'), ' Rules that are not evaluated'),
    el(
      'ul',
      {},
      all.map((each) =>
        el(
          'li',
          {},
          el('code', {}, `${short(each.file, 200)}` + (each.line ? `:${each.line}` : '')),
          ` ${short(each.message, 400)}`,
        ),
      ),
    ),
    left.config_errors > 0 ? el('p', {}, `and ${count(left.config_errors)} more`) : null,
  );
}

// One rule with all its alerts.
function card(rule, page) {
  const all = found(rule);
  const worst = all.find((each) => each.state === 'firing') ?? all[0];
  const level =
    rule.state === 'firing' ? rule.severity : rule.state === 'pending' ? 'info' : 'unknown';
  return el(
    'article',
    {
      class: `card ${level === 'info' ? 'pending' : badgeClass(level)}`,
      'data-key': short(rule.alert, 200),
    },
    el('h3', {}, badge(level, badgeText(rule)), ' ', short(rule.alert, 120)),
    el('p', {class: 'summary'}, worst ? short(worst.summary, 600) : whyUnknown(rule)),
    worst ? el('p', {class: 'quiet'}, since(worst, rule)) : null,
    worst && rule.unknown_reason ? el('p', {class: 'quiet'}, whyUnknown(rule)) : null,
    all.length > 1 ? series(all, rule) : null,
    worst ? advice(worst, rule, page) : el('p', {}, runbookButton(page, rule.runbook, {alert: rule.alert})),
    worst?.active_since ? showTime(worst, page) : null,
  );
}

// From when its condition became true until now.
function showTime({active_since: text}, page) {
  const from = Date.parse(text) / 1000;
  if (!Number.isFinite(from)) return null;
  return el(
    'p',
    {},
    el(
      'button',
      {type: 'button', class: 'plain', onclick: () => page.jumpTo(from, page.device.time())},
      'Show this time in the charts',
    ),
  );
}

// Rules with unknown state, by reason: one unavailable source affects many rules.
function blind(rules) {
  if (rules.length === 0) return null;
  const reasons = new Map();
  for (const rule of rules) {
    const why = short(rule.unknown_reason ?? rule.needs_history ?? 'no reason reported', 400);
    reasons.set(why, [...(reasons.get(why) ?? []), rule]);
  }
  return el(
    'article',
    {class: 'card unknown', 'data-key': 'blind'},
    el(
      'h3',
      {},
      badge('unknown'),
      ` ${many(rules.length, 'rule has', 'rules have')} an unknown state`,
    ),
    el(
      'ul',
      {class: 'notes'},
      [...reasons].map(([why, whose]) =>
        el(
          'li',
          {},
          `${why}: `,
          whose.map((rule, i) => [
            i > 0 ? ', ' : '',
            short(rule.alert, 120),
            ` (${words(rule.severity)})`,
          ]),
        ),
      ),
    ),
  );
}

const badgeClass = (level) => (['warning', 'critical', 'info'].includes(level) ? level : 'unknown');

function badgeText(rule) {
  if (rule.state === 'firing')
    return rule.inhibited ? `${words(rule.severity)}, inhibited` : words(rule.severity);
  return `${words(rule.state)} (${words(rule.severity)})`;
}

function whyUnknown(rule) {
  const why = rule.unknown_reason ?? rule.needs_history;
  return why
    ? `State unknown: ${short(why, 400)}.`
    : 'State unknown.';
}

function sinceWhen(text) {
  const when = moment(Date.parse(text) / 1000);
  return when && `since ${when}`;
}

function since(alert, rule) {
  const active = sinceWhen(alert.active_since);
  const long = duration(alert.active_seconds);
  const parts = [
    `Condition true ${[active, long && `for ${long}`].filter(Boolean).join(', ') || 'now'}`,
  ];
  if (alert.state === 'unknown') parts[0] = parts[0].replace('true', 'true when last seen, ');
  if (alert.state === 'pending') parts.push(`fires after ${duration(rule.for_seconds)}`);
  if (sinceWhen(alert.firing_since)) parts.push(`firing ${sinceWhen(alert.firing_since)}`);
  else if (typeof alert.firing_seconds === 'number')
    parts.push(`firing for ${duration(alert.firing_seconds)}`);
  if (alert.keep_firing) parts.push('the condition ended; keeps firing for a while');
  if (rule.inhibited)
    parts.push(`inhibited by ${(rule.unless ?? []).map((each) => short(each)).join(', ')}`);
  return `${parts.join('; ')}.`;
}

// Details of a pending alert, on request.
function advice(alert, rule, page) {
  const detail = el(
    'dl',
    {class: 'advice'},
    [
      ['Cause', alert.cause && short(alert.cause, 800)],
      ['Remedy', alert.remedy && short(alert.remedy, 800)],
      ['Read', runbookButton(page, rule.runbook, {alert: rule.alert, labels: alert.labels})],
    ]
      .filter(([, what]) => what)
      .map(([name, what]) => [el('dt', {}, name), el('dd', {}, what)]),
  );
  if (rule.state === 'firing') return detail;
  return el('details', {}, el('summary', {}, 'Cause and remedy'), detail);
}

// For a rule that is true for several series.
function series(alerts, rule) {
  const rest = alerts.length - MOST_SERIES + (rule.dropped_alerts ?? 0);
  return [
    table(
      `Series of ${short(rule.alert, 80)}`,
      [
        {name: 'Which', head: true, of: (row) => labels(row.labels)},
        {name: 'State', of: (row) => words(row.state)},
        {name: 'Value', kind: 'number', of: (row) => short(row.value_text ?? '')},
        {name: 'For', kind: 'number', of: (row) => duration(row.active_seconds)},
      ],
      alerts.slice(0, MOST_SERIES),
      'small',
    ),
    rest > 0 ? el('p', {class: 'quiet'}, `and ${count(rest)} more`) : null,
  ];
}

function labels(all) {
  return (
    Object.entries(all ?? {})
      .map(([name, value]) => `${words(name)} ${short(value)}`)
      .join(', ') || 'the device'
  );
}

function all(rules, left) {
  if (rules.length === 0) return null;
  return el(
    'details',
    {'data-key': 'all'},
    el('summary', {}, `All ${count(rules.length)} rules`),
    table(
      'All rules and their conditions',
      [
        {name: 'Rule', head: true, of: (row) => short(row.alert, 80)},
        {name: 'Severity', of: (row) => words(row.severity)},
        {name: 'State', of: state},
        {name: 'Condition', of: (row) => (row.conditions ?? []).map(condition)},
        {name: 'Runbook', of: (row) => runbook(row.runbook) ?? 'none'},
      ],
      rules,
    ),
    left > 0
      ? el('p', {class: 'quiet'}, `${count(left)} more rules omitted.`)
      : null,
  );
}

function state(rule) {
  if (rule.state === 'inactive')
    return (rule.no_series ?? []).length > 0 ? 'not applicable' : 'inactive';
  return words(rule.state);
}

function condition(each) {
  const now = each.worst ? `; now ${short(each.worst.value_text)}` : '';
  return el('div', {}, short(each.text, 300), el('span', {class: 'note'}, now));
}
