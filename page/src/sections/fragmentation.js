// SPDX-License-Identifier: Apache-2.0
// Fragmentation: the largest block available to a driver by zone, and free blocks over time.

import {known, why} from '../absent.js';
import {el} from '../dom.js';
import {bytes, count} from '../format.js';
import {buddyHeatMap} from '../pictures/index.js';
import {fill, unavailable} from '../section.js';
import {short} from '../text.js';

const orNot = (text, absent, key) => el('td', {}, known(text, absent, key));

function row(zone) {
  const {absent = {}} = zone;
  return el(
      'tr', {}, el('th', {scope: 'row'}, `${short(zone.zone)} (node ${short(zone.node)})`),
      orNot(bytes(zone.free_bytes), absent, 'free_bytes'),
      orNot(bytes(zone.free_cma_bytes), absent, 'free_cma_bytes'),
      orNot(block(zone.largest_order_outside_cma, zone.largest_bytes_outside_cma), absent,
            'largest_order_outside_cma'),
      orNot(distance(zone.above_min_bytes), absent, 'above_min_bytes'));
}

// '' where unknown. A device without a free block reports no page size.
const block = (order, size) =>
    order === undefined ? '' : bytes(size) || `of 2^${count(order)} pages`;

const best = ({best_bytes_outside_cma: size}) => (size === 0 ? 'none' : bytes(size));

// The distance of a driver's request from the kernel's reserve.
function distance(value) {
  if (typeof value !== 'number') return '';
  return value < 0 ? `${bytes(-value)} below` : `${bytes(value)} above`;
}

const kinds = (evidence) => (evidence === undefined ? '' : `${count(evidence)} of 3 kinds`);

function draw(status) {
  const of = status.fragmentation ?? {};
  const absent = of.absent ?? {};
  const zones = of.zones ?? [];
  if (zones.length === 0) {
    return unavailable('Free blocks', why(absent, 'zones') || why(status.absent, 'fragmentation'));
  }
  return [
    el('p', {}, 'Largest block certainly available to drivers: ',
       el('b', {}, known(best(of), absent, 'best_bytes')),
       '. Signs of fragmentation in the last ten minutes: ',
       known(kinds(of.evidence), absent, 'evidence'), '.'),
    el('div', {class: 'table', tabindex: '0', role: 'region', 'aria-label': 'Zones'},
       el('table', {}, el('caption', {}, 'Zones of memory now'),
          el('thead', {},
             el('tr', {},
                [
                  'zone', 'free', 'of that CMA', 'largest block outside CMA',
                  'distance to min watermark'
                ].map((text) => el('th', {scope: 'col'}, text)))),
          el('tbody', {}, zones.map(row)))),
  ];
}

export const fragmentation = {
  id: 'fragmentation',
  title: 'Fragmentation',
  brief: ({fragmentation: of = {}}) => {
    const size = best(of);
    return [size ? `largest block ${size}` : 'not known'];
  },
  create(body, page) {
    fill(body, page, 'status', 3, draw);
    body.append(buddyHeatMap(page));
  },
};
