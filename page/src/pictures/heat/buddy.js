// SPDX-License-Identifier: Apache-2.0
// Fragmentation: free memory by block size, over time.
//
// A row is the memory free in blocks of at least its size, which can serve a request of that size.
// The rows of large blocks empty first, while the ones below stay full.

import {el, show} from '../../dom.js';
import {bytes} from '../../format.js';
import {choose, chosen} from '../../url_state.js';

import {averages, least, spread} from '../buckets.js';
import {heatPicture} from './heat_picture.js';
import {latestText} from '../summary.js';

const nameOf = ({node, zone}) => `${zone} (node ${node})`;

// The zone that serves a driver's request first: the largest block outside CMA, then the most free
// memory outside CMA.
function mostUseful(zones) {
  const useful = [...zones].sort(
      (a, b) => (b.largest_order_outside_cma ?? -2) - (a.largest_order_outside_cma ?? -2) ||
          (b.free_bytes - (b.free_cma_bytes ?? 0)) - (a.free_bytes - (a.free_cma_bytes ?? 0)));
  return useful.length > 0 ? nameOf(useful[0]) : null;
}

const ABOVE_THE_LINE = 'Above the white line only CMA is free, or nothing; drivers\u2019 ordinary ' +
    'requests cannot use CMA. The line is the minimum of each time.';
const NO_LINE = 'Free CMA pages are included; the largest block available to drivers is not ' +
    'recorded here.';

// A label as a query needs it: the kernel's text may contain any character.
const quoted = (text) => `"${String(text).replace(/[\\"]/g, '\\$&')}"`;

export function buddyHeatMap(page) {
  let zones = [];
  let pageBytes = 4096;
  const select = el('select', {
    onchange: () => {
      choose('zone', select.value);
      page.draw();
    },
  });
  const choice = el('p', {class: 'choice'}, el('label', {}, 'Zone ', select));
  page.device.watch('status', 3, (status) => {
    if (!status?.fragmentation) return;
    zones = status.fragmentation.zones ?? [];
    pageBytes = status.fragmentation.page_bytes ?? pageBytes;
  });

  return heatPicture(page, {
    title: 'Free memory by size of block, over time',
    sources: ['buddyinfo'],
    zeroIsBad: true,
    zero: 'none',
    text: bytes,
    before: choice,
    load: (ask, piecesOf) => load(ask, piecesOf),
  });

  async function load(ask, piecesOf) {
    if (zones.length === 0) await firstStatus(page, () => zones.length > 0);
    const wanted = chosen('zone') ?? mostUseful(zones);
    const known = zones.find((zone) => nameOf(zone) === wanted) ?? zones[0];
    const of = known ? `{node=${quoted(known.node)},zone=${quoted(known.zone)}}` : '';
    const blocks = await ask(`jetmem_buddy_free_blocks${of}`);
    const [largest] = await ask(`jetmem_buddy_largest_order_outside_cma${of}`);
    const first = known ?? blocks[0]?.labels;
    if (!first || blocks.length === 0) return {nothing: 'Nothing recorded in this time.'};
    offer(zones.length > 0 ? zones : [first], nameOf(first));
    const mine = blocks.filter(({labels}) => nameOf(labels) === nameOf(first));
    return picture(mine, largest, piecesOf(0), first);
  }

  function offer(all, selected) {
    show(select, all.map((zone) => el('option', {value: nameOf(zone)}, nameOf(zone))));
    select.value = selected;
    choice.hidden = all.length < 2;
  }

  function picture(blocks, largest, pieces, zone) {
    const orders = blocks.map(({labels}) => Number(labels.order)).sort((a, b) => b - a);
    const sizes = orders.map((order) => pageBytes * 2 ** order);
    const counts = orders.map((order) => {
      const {points} = blocks.find(({labels}) => Number(labels.order) === order);
      return spread(averages(points, pieces), points, pieces);
    });
    // From the largest order down, each row adds its own. The kernel reports all orders together:
    // an order missing beside others did not exist in the kernel of that boot.
    const values = counts.map((row, i) => row.map((each, column) => {
      if (each === null) return null;
      let sum = 0;
      for (let above = 0; above <= i; ++above) sum += (counts[above][column] ?? 0) * sizes[above];
      return sum;
    }));
    const most = Math.max(...values.flat().filter((each) => each !== null), 1);
    const rowOf = (order) => (order < 0 ? orders.length : orders.indexOf(order));
    const outside = largest ? spread(least(largest.points, pieces), largest.points, pieces) : null;
    return {
      pieces,
      values,
      rows: orders.map((order, i) => ({
                         name: bytes(sizes[i]),
                         long: `in blocks of ${bytes(sizes[i])} or more (order ${order})`,
                       })),
      low: most / 4096,
      high: most,
      lineName: outside && 'largest block certainly available to drivers',
      line: outside?.map((order) => (order === null ? null : rowOf(order))),
      points: blocks[0].points,
      summary: describe(values, sizes, outside, pieces, zone),
      notes: [
        'Each row: free memory in blocks of at least that size, averaged.',
        outside && ABOVE_THE_LINE,
        largest === undefined && NO_LINE,
      ].filter(Boolean),
    };
  }

  function describe(values, sizes, outside, pieces, {zone}) {
    const last = values.at(-1).findLastIndex((each) => each !== null);
    const now = values.findIndex((row) => row[last] > 0);
    if (last < 0) return `Zone ${zone}: nothing recorded.`;
    const known = (outside ?? []).filter((each) => each !== null);
    const lastKnown = (outside ?? []).findLastIndex((each) => each !== null);
    // A piece covers what was recorded within it.
    const when = (piece) =>
        latestText({latestTime: pieces.begin(piece)}, pieces.to, pieces.width);
    const order = (each) => (each < 0 ? 'none' : bytes(pageBytes * 2 ** each));
    return `Zone ${zone}: ` +
        (now < 0 ? `no free block ${when(last)}.` :
                   `${bytes(values.at(-1)[last])} free ${when(last)}, the largest block of ${
                       bytes(sizes[now])}, ` +
                 `with ${bytes(values[now][last])} in blocks of that size.`) +
        (known.length > 0 ?
             ` Largest block certainly available to drivers: ${order(known.at(-1))} ${
                 when(lastKnown)}, ` +
                 `${order(Math.min(...known))} at least, ${
                     order(Math.max(...known))} at most.` :
             '');
  }
}

// The first answer that lists the zones; without one within five seconds drawing continues.
async function firstStatus(page, isThere) {
  for (let i = 0; i < 20 && !isThere(); ++i) await new Promise((done) => setTimeout(done, 250));
}
