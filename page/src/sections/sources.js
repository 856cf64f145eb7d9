// SPDX-License-Identifier: Apache-2.0
// The state of each source with its reason, and of jetmem itself.

import {el} from '../dom.js';
import {figures} from '../stats.js';
import {bytes, count, duration, many} from '../format.js';
import {badge} from '../level.js';
import {fill} from '../section.js';
import {table} from '../table.js';
import {named, short, words} from '../text.js';

const LEVELS = {
  ok: 'ok',
  absent: 'info',
  disabled: 'info',
  denied: 'warning',
  failed: 'critical',
  pending: 'unknown',
};

export const sources = {
  id: 'sources',
  title: 'Data sources',
  inShort: 'Sources',
  brief: ({jetmem: {sources_ok: good} = {}}) => [good === undefined ? '' : `${count(good)} read`],
  create(body, page) {
    const itself = el('div');
    fill(body, page, 'now', 30, draw);
    body.append(itself);
    fill(itself, page, 'status', 3, (status) => health(status.jetmem ?? {}));
  },
};

function draw(now) {
  const all = now.sources ?? [];
  const is = (each) => (each.stale ? 'stale' : each.state);
  const blind = all.filter((each) => !['ok', 'absent', 'disabled'].includes(is(each)));
  const none = all.filter((each) => ['absent', 'disabled'].includes(is(each)));
  const fine = all.filter((each) => is(each) === 'ok');
  return [
    (now.notes ?? []).map((each) => el('p', {class: 'remark'}, short(each, 400))),
    el(
      'p',
      {},
      `${count(fine.length)} of ${count(all.length)} sources are read. ` +
        `Not available here: ${count(none.length)}. Could not be read: ${count(blind.length)}.`,
    ),
    blind.length > 0 ? table('Could not be read', TROUBLED, blind) : null,
    none.length > 0 ? table('Not available here', TROUBLED, none) : null,
    el(
      'details',
      {'data-key': 'fine'},
      el('summary', {}, `${many(fine.length, 'source that is', 'sources that are')} read`),
      table('Sources that are read', FINE, fine),
    ),
  ];
}

function stateOf(each) {
  if (each.stale) return badge('warning', `too old (${words(each.state)})`);
  return badge(LEVELS[each.state] ?? 'unknown', words(each.state));
}

const NAME = {
  name: 'Source',
  head: true,
  of: (each) => [named(each.source), el('span', {class: 'note'}, short(each.description ?? '', 200))],
};

const TROUBLED = [
  NAME,
  {name: 'State', of: stateOf},
  {
    name: 'Why',
    of: (each) => [
      short(each.reason || each.skipped || 'no reason reported', 500),
      each.grant
        ? el('span', {class: 'note'}, `To grant access: ${short(each.grant, 300)}`)
        : null,
    ],
  },
];

const FINE = [
  NAME,
  {name: 'Read every', kind: 'number', of: (each) => duration(each.interval_seconds)},
  {
    name: 'Missing values',
    of: (each) =>
      Object.entries(each.absent_values ?? {})
        .map(([reason, number]) => `${words(reason)}: ${count(number)}`)
        .join(', ') || 'none',
  },
  {name: 'Omitted on purpose', of: (each) => short(each.skipped || ' ', 300)},
];

function health(jetmem) {
  const lost = jetmem.log_dropped;
  return [
    el('h3', {}, 'jetmem itself'),
    figures([
      {name: 'Memory', text: bytes(jetmem.resident_bytes)},
      {
        name: 'Loop lag',
        text: duration(jetmem.loop_lag_seconds),
        note: 'worst of the last minute',
        level: jetmem.loop_lag_seconds > 1 ? 'warning' : '',
      },
      {name: 'Log records lost', text: count(lost), level: lost > 0 ? 'warning' : ''},
      {
        name: 'Recorder',
        text:
          jetmem.history_up === undefined ? '' : jetmem.history_up ? 'records' : 'does not record',
        level: jetmem.history_up === 0 ? 'critical' : '',
      },
      {name: 'Reader', text: words(jetmem.reader ?? '')},
      {name: 'Sources read', text: count(jetmem.sources_ok)},
    ]),
  ];
}
