// What the rules found: what fires, what is about to, and what nobody can say.

import {el} from '../dom.js';
import {count, duration, many, moment} from '../format.js';
import {badge} from '../level.js';
import {runbook} from '../runbook.js';
import {fill} from '../section.js';
import {table} from '../table.js';
import {short, words} from '../text.js';

const WORST_FIRST = ['critical', 'warning', 'info'];
const STATES = ['firing', 'pending', 'unknown', 'inactive'];
const MOST_SERIES = 8;

export const alerts = {
  id: 'alerts',
  title: 'Alerts',
  create(body, page) {
    fill(body, page, 'alerts', 5, draw);
  },
};

function draw(answer) {
  const rules = answer.rules ?? [];
  const of = (state) =>
    rules.filter((rule) => rule.state === state).sort((a, b) => rank(a) - rank(b));
  const other = rules.filter((rule) => !STATES.includes(rule.state));
  return [
    summary(answer),
    mistakes(answer),
    ...[
      ...of('firing'),
      ...of('pending'),
      ...of('unknown').filter((rule) => found(rule).length > 0),
      ...other,
    ].map(card),
    blind(of('unknown').filter((rule) => found(rule).length === 0)),
    all(rules, answer.left_out?.rules ?? 0),
  ];
}

const found = (rule) => rule.alerts ?? [];
const rank = (rule) => (WORST_FIRST.indexOf(rule.severity) + 4) % 4;

function summary({counts = {}, judged = {}, left_out: left = {}}) {
  const parts = [
    [counts.firing, 'firing'],
    [counts.pending, 'pending'],
    [counts.unknown, 'unknown'],
    [counts.inactive, 'quiet'],
  ]
    .filter(([number]) => number !== undefined)
    .map(([number, what]) => `${count(number)} ${what}`);
  const quiet =
    counts.no_series > 0
      ? ` (${count(counts.no_series)} of the quiet have nothing to look at on this device)`
      : '';
  return el(
    'p',
    {class: 'quiet'},
    `Rules: ${parts.join(', ') || 'none'}${quiet}. `,
    judged.unix_seconds ? `Judged at ${moment(judged.unix_seconds)}. ` : '',
    left.alerts > 0 ? `${count(left.alerts)} more alerts had no room in the answer.` : '',
  );
}

function mistakes({mistakes: all = [], left_out: left = {}}) {
  if (all.length === 0) return null;
  return el(
    'div',
    {class: 'card warning', 'data-key': 'mistakes'},
    el('h3', {}, badge('warning', 'mistakes'), ' Rules that are not judged'),
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
    left.mistakes > 0 ? el('p', {}, `and ${count(left.mistakes)} more`) : null,
  );
}

// One rule with all its alerts.
function card(rule) {
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
    worst && rule.blind ? el('p', {class: 'quiet'}, whyUnknown(rule)) : null,
    all.length > 1 ? series(all, rule) : null,
    worst ? advice(worst, rule) : el('p', {}, runbook(rule.runbook)),
  );
}

// What nobody can judge, by the reason: a source that is blind takes many rules with it.
function blind(rules) {
  if (rules.length === 0) return null;
  const reasons = new Map();
  for (const rule of rules) {
    const why = short(rule.blind ?? rule.needs_past ?? 'for no reason that is told', 400);
    reasons.set(why, [...(reasons.get(why) ?? []), rule]);
  }
  return el(
    'article',
    {class: 'card unknown', 'data-key': 'blind'},
    el(
      'h3',
      {},
      badge('unknown'),
      ` Nobody can say whether ${many(rules.length, 'rule holds', 'rules hold')}`,
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
    return rule.silenced ? `${words(rule.severity)}, silenced` : words(rule.severity);
  return `${words(rule.state)} (${words(rule.severity)})`;
}

function whyUnknown(rule) {
  const why = rule.blind ?? rule.needs_past;
  return why
    ? `Nobody can say whether it holds: ${short(why, 400)}.`
    : 'Nobody can say whether it holds.';
}

function sinceWhen(text) {
  const when = moment(Date.parse(text) / 1000);
  return when && `since ${when}`;
}

function since(alert, rule) {
  const active = sinceWhen(alert.active_since);
  const long = duration(alert.active_seconds);
  const parts = [
    `Its conditions hold ${[active, long && `for ${long}`].filter(Boolean).join(', ') || 'now'}`,
  ];
  if (alert.state === 'unknown') parts[0] = parts[0].replace('hold', 'held when last seen, ');
  if (alert.state === 'pending') parts.push(`it fires after ${duration(rule.for_seconds)}`);
  if (sinceWhen(alert.firing_since)) parts.push(`fires ${sinceWhen(alert.firing_since)}`);
  else if (typeof alert.firing_seconds === 'number')
    parts.push(`fires for ${duration(alert.firing_seconds)}`);
  if (alert.kept) parts.push('they ended, and it is kept for a while');
  if (rule.silenced)
    parts.push(`kept quiet by ${(rule.unless ?? []).map((each) => short(each)).join(', ')}`);
  return `${parts.join('; ')}.`;
}

// Of what only waits to fire, for who asks.
function advice(alert, rule) {
  const told = el(
    'dl',
    {class: 'advice'},
    [
      ['Cause', alert.cause && short(alert.cause, 800)],
      ['Remedy', alert.remedy && short(alert.remedy, 800)],
      ['Read', runbook(rule.runbook)],
    ]
      .filter(([, what]) => what)
      .map(([name, what]) => [el('dt', {}, name), el('dd', {}, what)]),
  );
  if (rule.state === 'firing') return told;
  return el('details', {}, el('summary', {}, 'Cause and remedy'), told);
}

// Of a rule that holds for several.
function series(alerts, rule) {
  const rest = alerts.length - MOST_SERIES + (rule.dropped_alerts ?? 0);
  return [
    table(
      `What ${short(rule.alert, 80)} holds for`,
      [
        {name: 'Which', head: true, of: (row) => labels(row.labels)},
        {name: 'State', of: (row) => words(row.state)},
        {name: 'Value', kind: 'number', of: (row) => short(row.shown ?? '')},
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
      'All rules, and what each looks at',
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
      ? el('p', {class: 'quiet'}, `${count(left)} more rules had no room in the answer.`)
      : null,
  );
}

function state(rule) {
  if (rule.state === 'inactive')
    return (rule.no_series ?? []).length > 0 ? 'nothing to look at' : 'quiet';
  return words(rule.state);
}

function condition(each) {
  const now = each.worst ? `; now ${short(each.worst.shown)}` : '';
  return el('div', {}, short(each.text, 300), el('span', {class: 'note'}, now));
}
