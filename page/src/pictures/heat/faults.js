// SPDX-License-Identifier: Apache-2.0
// Kernel events over time: how many of each kind.

import {count} from '../../format.js';

import {stepsOf} from '../align.js';
import {reach} from '../buckets.js';
import {heatPicture} from './heat_picture.js';
import {increases} from '../increases.js';

const MOST_KINDS = 12;

function kindsOf(all) {
  const kinds = new Map();
  for (const {labels, points} of all) {
    // Events caused by jetmem's own probes are in their section.
    if (labels.origin === 'probe' || points.length === 0) continue;
    kinds.set(labels.kind, [...(kinds.get(labels.kind) ?? []), points]);
  }
  return kinds;
}

// The time when the log was first read in each boot.
function begins(all) {
  const begin = new Map();
  for (const {points} of all) {
    for (const {boot, time} of points)
      if (!(time >= begin.get(boot))) begin.set(boot, time);
  }
  return begin;
}

const words = (kind) => kind.replaceAll('_', ' ');

export const faultsPicture = (page) => heatPicture(page, {
  title: 'Events of the kernel log over time',
  sources: ['kernel_log'],
  zeroIsBad: false,
  text: (value) => `${count(Math.round(value))} ${Math.round(value) === 1 ? 'event' : 'events'}`,
  async load(ask, piecesOf) {
    const all = await ask('jetmem_kernel_events_total');
    if (all.every(({points}) => points.length === 0))
      return {nothing: 'Nothing recorded in this time.'};
    const pieces = piecesOf(0);
    const looked = lookedAt(all, pieces);
    const begin = begins(all);
    const rows = [];
    for (const [kind, lists] of kindsOf(all)) {
      const values = looked.map((each) => (each ? 0 : null));
      let sum = 0;
      for (const {time, by} of lists.flatMap((points) => increases(points, begin))) {
        const i = pieces.at(time);
        if (i < 0) continue;
        values[i] = (values[i] ?? 0) + by;
        sum += by;
      }
      if (sum > 0) rows.push({name: words(kind), values, sum});
    }
    rows.sort((a, b) => b.sum - a.sum);
    if (rows.length === 0) {
      return {
        nothing: 'No kernel events of these kinds in this time.',
        recorded: true
      };
    }
    const shown = rows.slice(0, MOST_KINDS);
    const values = shown.map((row) => row.values);
    return {
      pieces,
      values,
      rows: shown,
      low: 1,
      high: Math.max(2, ...values.flat()),
      points: all.find(({points}) => points.length > 0).points,
      summary: rows.slice(0, 6).map(({name, sum}) => `${name}: ${count(sum)}`).join(', ') + '.',
      notes: rows.length > shown.length ?
          [`${rows.length - shown.length} more kinds omitted.`] :
          [],
    };
  },
});

// The pieces of time in which events were counted.
function lookedAt(all, pieces) {
  const out = Array(pieces.count).fill(false);
  const stepOf = stepsOf(all, pieces.step);
  for (const {points} of all) {
    reach(points, pieces, stepOf, (_, i) => {
      out[i] = true;
    });
  }
  return out;
}
