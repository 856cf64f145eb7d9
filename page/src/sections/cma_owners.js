// SPDX-License-Identifier: Apache-2.0
// Who took a contiguous area: the area from its beginning to its end, and its owners.

import {el, svg} from '../dom.js';
import {bytes, count, duration} from '../format.js';
import {table} from '../table.js';
import {named, short} from '../text.js';

const WIDTH = 1000;
const HEIGHT = 28;
const COLOURS = 8;
const BEFORE = 1;
const UNKNOWN = 2;

const nameOf = ({owner, pid, thread}) =>
  `${short(owner) || 'an unnamed thread'}${pid ? ` (PID ${pid})` : thread ? ` (thread ${thread})` : ''}`;

const holders = ({maybe_held_by: all = []}) =>
  all.length ? `; perhaps held by ${all.map(({name, pid}) => nameOf({owner: name, pid})).join(', ')}` : '';

const classOf = (state, owner) =>
  state === BEFORE ? 'before' : state === UNKNOWN ? 'unknown' : `owner-${Math.min(owner, COLOURS - 1)}`;

function labelOf([, size, state, owner, age], owners) {
  const what = bytes(size);
  if (state === BEFORE) return `${what}, allocated before jetmem looked`;
  if (state === UNKNOWN) return `${what}, unknown whether allocated`;
  const since = age >= 0 ? `, ${duration(age)} ago` : '';
  return `${what}, allocated by ${nameOf(owners[owner] ?? {})}${since}`;
}

// Blocks of one owner that nobody could tell apart are drawn as one.
function drawn(blocks, size) {
  const out = [];
  for (const [offset, length, state, owner, age] of blocks) {
    if (![offset, length].every((each) => Number.isFinite(each) && each >= 0)) continue;
    const x = (offset / size) * WIDTH;
    const width = (length / size) * WIDTH;
    const last = out.at(-1);
    if (last && last.state === state && last.owner === owner && x - last.x - last.width < 0.2 && width < 2) {
      last.width = x + width - last.x;
      last.length += length;
      continue;
    }
    out.push({x, width, length, state, owner, age});
  }
  return out;
}

function strip({area, bytes: size, blocks = [], owners = []}) {
  if (!(size > 0) || blocks.length === 0) return null;
  const most = owners.slice(0, 3).map((each) => `${nameOf(each)} ${bytes(each.bytes)}`);
  return svg(
    'svg',
    {
      class: 'cma-strip',
      role: 'img',
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: 'none',
      'aria-label': `Area ${short(area)}: ${most.join(', ') || 'no owner is known'}`,
    },
    svg('rect', {class: 'free', x: 0, y: 0, width: WIDTH, height: HEIGHT}),
    drawn(blocks, size).map(({x, width, length, state, owner, age}) =>
      svg(
        'rect',
        {class: classOf(state, owner), x, y: 0, width: Math.max(width, 0.5), height: HEIGHT},
        svg('title', {}, labelOf([0, length, state, owner, age], owners)),
      ),
    ),
  );
}

const COLUMNS = [
  {
    name: 'Allocated by',
    head: true,
    of: ({swatch, ...owner}) => [
      el('span', {class: `swatch ${swatch}`, 'aria-hidden': 'true'}),
      named(nameOf(owner)),
      owner.unit && el('span', {class: 'note'}, ` ${short(owner.unit)}`),
      owner.container && el('span', {class: 'note'}, ` container ${short(owner.container)}`),
      owner.ended && el('span', {class: 'note'}, ` has ended${holders(owner)}`),
    ],
  },
  {name: 'Memory', kind: 'number', of: (owner) => bytes(owner.bytes)},
  {name: 'Blocks', kind: 'number', of: (owner) => count(owner.blocks)},
  {name: 'Oldest', kind: 'number', of: (owner) => duration(owner.oldest_seconds)},
  {
    name: 'Largest free block without it',
    kind: 'number',
    of: (owner) => bytes(owner.largest_run_without_bytes),
  },
  {name: 'Through', of: (owner) => short(owner.function ?? '')},
];

const rest = (name, size, swatch) =>
  size > 0
    ? el('p', {class: 'quiet'}, el('span', {class: `swatch ${swatch}`, 'aria-hidden': 'true'}), `${bytes(size)} ${name}`)
    : null;

// Nothing where there is no map of the area.
export function owners(area) {
  if (area.before_bytes === undefined) return null;
  const rows = (area.owners ?? []).map((each, i) => ({...each, swatch: classOf(0, i)}));
  return [
    strip(area),
    rows.length > 0 ? table(`Who allocated ${short(area.area)}`, COLUMNS, rows) : null,
    rest('allocated before jetmem looked, by whom is unknown', area.before_bytes, 'before'),
    rest('of which it is unknown whether they are allocated', area.unknown_bytes, 'unknown'),
  ];
}
