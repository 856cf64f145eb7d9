// SPDX-License-Identifier: Apache-2.0
// Available memory, and the use of the rest.

import {budget} from '../budget.js';
import {el} from '../dom.js';
import {about, bytes, count, ratio} from '../format.js';
import {figures} from '../stats.js';
import {memoryPicture, pressurePicture} from '../pictures/index.js';
import {fill} from '../section.js';

const PRESSURE = [
  'allocations succeed at once',
  'caches are reclaimed',
  'programs wait for memory',
  'most tasks wait',
];

export const memory = {
  id: 'memory',
  title: 'Memory',
  brief: ({memory: all = {}}) => [
    all.available_bytes === undefined
      ? 'not known'
      : `${bytes(all.available_bytes)} available${
          all.pressure_level > 0 ? `, pressure ${all.pressure_level} of 3` : ''
        }`,
    all.pressure_level >= 3 ? 'critical' : all.pressure_level >= 2 ? 'warning' : '',
  ],
  create(body, page) {
    fill(body, page, 'status', 3, draw);
    body.append(el('div', {class: 'pictures'}, memoryPicture(page), pressurePicture(page)));
  },
};

function draw(status) {
  const all = status.memory ?? {};
  const absent = status.absent ?? {};
  return [
    figures([
      {
        name: 'Available',
        text: bytes(all.available_bytes),
        key: 'available_bytes',
        absent,
        note:
          all.available_ratio === undefined
            ? ''
            : `${ratio(all.available_ratio)} of ${bytes(all.total_bytes)}`,
      },
      {
        name: 'Pressure (0 to 3)',
        text: count(all.pressure_level),
        key: 'pressure_level',
        absent,
        note: PRESSURE[all.pressure_level] ?? 'unknown level',
        level: all.pressure_level >= 3 ? 'critical' : all.pressure_level >= 2 ? 'warning' : '',
      },
      {
        name: 'Waiting for memory',
        text: ratio(all.pressure_some_ratio),
        key: 'pressure_some_ratio',
        absent,
        note: 'of the last 10 s (some)',
      },
      {
        name: 'Swap used',
        text: swap(all),
        key: 'swap_used_bytes',
        absent,
        note: all.swap_bytes > 0 ? `of ${bytes(all.swap_bytes)}` : '',
      },
      all.exhaustion_seconds === undefined
        ? null
        : {
            name: 'Used up in',
            text: about(all.exhaustion_seconds),
            level: 'warning',
            note: 'at this rate',
          },
    ]),
    budget(all.budget ?? {}),
  ];
}

function swap({swap_bytes: whole, swap_used_bytes: used}) {
  return whole === 0 ? 'no swap' : bytes(used);
}
