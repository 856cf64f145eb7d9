// SPDX-License-Identifier: Apache-2.0
// Faults in the kernel log, by kind.

import {why} from '../absent.js';
import {el} from '../dom.js';
import {count, moment} from '../format.js';
import {badge} from '../level.js';
import {faultsPicture} from '../pictures/index.js';
import {fill, unavailable} from '../section.js';
import {table} from '../table.js';
import {short, words} from '../text.js';

export const faults = {
  id: 'faults',
  title: 'Faults',
  brief: ({faults: all}) => {
    if (all === undefined) return ['not known'];
    const day = all.reduce((sum, {last_day: each}) => sum + (each ?? 0), 0);
    return [day > 0 ? `${count(day)} in 24 h` : 'none in 24 h'];
  },
  create(body, page) {
    fill(body, page, 'status', 3, draw);
    body.append(el('div', {class: 'pictures'}, faultsPicture(page)));
  },
};

function draw(status) {
  const all = status.faults ?? [];
  const blind = why(status.absent, 'faults');
  return [
    blind ? unavailable(all.length > 0 ? 'Further faults' : 'Faults', blind) : null,
    all.length === 0 && !blind ? el('p', {}, 'The kernel has logged none since boot.') : null,
    all.length > 0 ? table('Faults that the kernel logged, by kind', COLUMNS, all) : null,
  ];
}

const COLUMNS = [
  {name: 'Kind', head: true, of: (fault) => words(fault.kind)},
  {name: 'Severity', of: (fault) => (fault.severity ? badge(fault.severity) : ' ')},
  {
    name: 'Last 24 h',
    kind: 'number',
    of: (fault) =>
      fault.last_day === undefined
        ? reason(fault, 'last_day')
        : `${fault.last_day_at_least ? 'at least ' : ''}${count(fault.last_day)}`,
  },
  {
    name: 'Since boot',
    kind: 'number',
    of: (fault) =>
      fault.since_boot === undefined ? reason(fault, 'since_boot') : count(fault.since_boot),
  },
  {name: 'Last at', of: (fault) => moment(fault.last_time)},
  {name: 'The last one', of: (fault) => short(fault.last ?? ' ', 400)},
];

function reason(fault, key) {
  const text = why(fault.absent, key);
  return text ? el('span', {class: 'absent'}, 'not known', el('span', {class: 'note'}, text)) : '';
}
