// SPDX-License-Identifier: Apache-2.0
// The memory of the whole module in parts that do not overlap: a bar, and a table with the numbers.

import {dash} from './absent.js';
import {el} from './dom.js';
import {bytes, ratio} from './format.js';
import {table} from './table.js';
import {short, words} from './text.js';

// Letters as in `jetmem status`.
const PARTS = {
  firmware: ['F', 'Firmware', 'carve-outs, reserved before Linux started'],
  kernel: ['K', 'Kernel', 'its own, not reclaimable'],
  applications: ['A', 'Applications', "programs' own and shared memory"],
  gpu: ['G', 'GPU, cameras, codecs', 'through nvmap'],
  cma: ['C', 'Contiguous (CMA)', 'allocated by drivers'],
  dmabuf: ['D', 'DMA-BUF heap', 'buffers of the heap "system"'],
  swap: ['Z', 'Compressed swap', 'used by zram and zswap'],
  cache: ['P', 'Page cache', 'files; reclaimed when needed'],
  free: ['.', 'Free', ''],
};
const REST = ['?', 'Unattributed', "drivers' own pages and unknown parts"];
const OF = {module: 'the module', physical: 'the physical memory', linux: "Linux's memory"};

export function budget(all) {
  const parts = (all.parts ?? []).map(partOf);
  const whole = all.bytes;
  const inside = parts.filter((part) => part.bytes !== undefined && !part.outside && !part.none);
  if (all.unaccounted_bytes !== undefined) inside.push(rest(all));
  const summed = inside.filter((part) => part.bytes > 0);
  const outside = parts.filter((part) => !inside.includes(part));
  if (all.overlap_bytes > 0) outside.push(overlap(all));
  return el(
    'div',
    {class: 'budget'},
    el(
      'h3',
      {},
      whole === undefined
        ? 'Memory by use'
        : `The ${bytes(whole)} of ${OF[all.of] ?? words(all.of)} by use`,
    ),
    whole === undefined
      ? el(
          'p',
          {class: 'unavailable'},
          `How much there is in all is not known: ${short(
            all.absent?.bytes ?? 'not reported by this device',
            400,
          )}.`,
        )
      : bar(summed),
    table('Parts of the memory', columns(whole), [...inside, ...outside]),
  );
}

function partOf(part) {
  const [letter, name, what] = PARTS[part.part] ?? ['\u00b7', words(part.part), ''];
  return {...part, key: PARTS[part.part] ? part.part : 'other', letter, name, what};
}

function rest(all) {
  const [letter, name, what] = REST;
  return {
    key: 'rest',
    letter,
    name,
    bytes: all.unaccounted_bytes,
    isRest: true,
    what: all.unaccounted_includes_unknown ? 'includes an unknown part' : what,
  };
}

// No part of the bar: what the parts are more than the whole.
function overlap(all) {
  return {
    key: 'rest',
    letter: '',
    name: 'Counted twice',
    bytes: all.overlap_bytes,
    isRest: true,
    what: 'parts overlap (memory given to nvmap is in two), or were read at different moments',
  };
}

// The table below has all numbers: for a screen reader the bar is one picture with one sentence.
function bar(parts) {
  const largest = [...parts].sort((a, b) => b.bytes - a.bytes);
  const sentence = `Parts of the memory, the largest first: ${largest
    .map((part) => `${part.name} ${bytes(part.bytes)}`)
    .join(', ')}`;
  return el(
    'div',
    {class: 'bar', role: 'img', 'aria-label': sentence},
    parts.map((part) =>
      el(
        'span',
        {
          class: `part ${part.key}`,
          style: {'flex-grow': String(part.bytes)},
          title: `${part.name}: ${bytes(part.bytes)}`,
          'data-key': part.key === 'other' ? short(part.part) : part.key,
        },
        el('span', {class: 'letter'}, part.letter),
      ),
    ),
  );
}

function columns(whole) {
  return [
    {name: 'Part', head: true, of: (part) => [partSign(part), part.name]},
    {name: 'Size', kind: 'number', of: size},
    {
      name: 'Share',
      kind: 'number',
      of: (part) =>
        whole > 0 && part.bytes >= 0 && !part.outside
          ? ratio(part.bytes / whole)
          : el('span', {'aria-hidden': 'true'}, ''),
    },
    {name: 'Made of', of: madeOf},
  ];
}

const partSign = (part) =>
  el(
    'span',
    {class: `part-sign part ${part.key}`, 'aria-hidden': 'true'},
    el('span', {class: 'letter'}, part.letter),
  );

function size(part) {
  if (part.bytes !== undefined) return bytes(part.bytes);
  if (part.none) return 'none';
  return dash();
}

function madeOf(part) {
  const pieces = (part.components ?? [])
    .filter((piece) => piece.bytes !== 0)
    .map((piece) => `${words(piece.part)} ${bytes(piece.bytes)}`)
    .join(', ');
  const partText =
    part.known_bytes === undefined
      ? ''
      : `${bytes(part.known_bytes)}, which overlaps with other parts`;
  const outside = part.outside ? 'not part of the total' : '';
  const why =
    part.bytes === undefined
      ? short(part.absent?.bytes ?? (part.none ? '' : 'not reported by this device'), 400)
      : '';
  const text = [part.what, pieces, partText, outside, why].filter(Boolean).join('; ');
  return text ? el('span', {class: 'note'}, text) : ' ';
}
