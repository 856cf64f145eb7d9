// SPDX-License-Identifier: Apache-2.0
// Results of jetmem-probe's last allocation of each kind.

import {why} from '../absent.js';
import {el} from '../dom.js';
import {count, duration} from '../format.js';
import {badge} from '../level.js';
import {probePicture} from '../pictures/index.js';
import {fill, unavailable} from '../section.js';
import {table} from '../table.js';
import {short, words} from '../text.js';

const LEVELS = {
  ok: 'ok',
  failed: 'critical',
  mismatch: 'critical',
  unsupported: 'info',
  skipped: 'info',
};
const FIRST = ['mismatch', 'failed', 'denied'];
const LAST = ['ok', 'skipped', 'unsupported'];

export const probes = {
  id: 'probes',
  title: 'Probes',
  brief: ({probes: all = []}) => {
    if (all.length === 0) return ['none yet'];
    const bad = all.filter(({state}) => FIRST.includes(state)).length;
    return [bad > 0 ? `${count(bad)} failed` : 'all succeeded', bad > 0 ? 'warning' : ''];
  },
  create(body, page) {
    fill(body, page, 'status', 3, draw);
    body.append(el('div', {class: 'pictures'}, probePicture(page)));
  },
};

function draw(status) {
  const all = [...(status.probes ?? [])].sort((a, b) => rank(a) - rank(b));
  const here = all.filter((each) => each.state !== 'unsupported');
  const none = all.filter((each) => each.state === 'unsupported');
  if (all.length === 0) {
    return unavailable('Probes', why(status.absent, 'probes') ||
        'none has run yet; the first runs within a minute after jetmemd starts');
  }
  return [
    status.probe_age_seconds === undefined
      ? null
      : el('p', {class: 'quiet'}, `Last probed ${duration(status.probe_age_seconds)} ago.`),
    here.length > 0
      ? table('Allocations tested, by kind of memory', columns(here), here)
      : null,
    none.length === 0
      ? null
      : el(
          'p',
          {class: 'quiet'},
          `Not available on this machine, driver or build: ${none.map(nameOf).join(', ')}.`,
        ),
  ];
}

const rank = ({state}) =>
  FIRST.includes(state)
    ? FIRST.indexOf(state)
    : LAST.includes(state)
      ? 10 + LAST.indexOf(state)
      : 5;

const nameOf = ({kind, target}) => words(kind) + (target ? ` (${short(target)})` : '');

const columns = (rows) =>
  [
    {name: 'Kind', head: true, of: nameOf},
    {name: 'Result', of: (each) => badge(LEVELS[each.state] ?? 'unknown', words(each.state))},
    {name: 'Why', of: (each) => (each.failure ? short(each.failure, 300) : ' ')},
    rows.every((each) => each.since_success_seconds === undefined)
      ? null
      : {
          name: 'Last success',
          of: (each) =>
            each.since_success_seconds === undefined
              ? ''
              : `${duration(each.since_success_seconds)} ago`,
        },
  ].filter(Boolean);
