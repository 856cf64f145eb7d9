// The memory of the whole module in parts that do not overlap: a bar, and a table that says the
// same in numbers.

import {dash} from './absent.js';
import {el} from './dom.js';
import {bytes, ratio} from './format.js';
import {table} from './table.js';
import {short, words} from './text.js';

// The letters are those of `jetmem status`.
const PARTS = {
  firmware: ['F', 'Firmware', 'carve-outs, taken before Linux ran'],
  kernel: ['K', 'Kernel', 'its own, that it cannot give up'],
  applications: ['A', 'Applications', "programs' own and shared memory"],
  gpu: ['G', 'GPU, cameras, codecs', 'through nvmap'],
  cma: ['C', 'Contiguous (CMA)', 'taken by drivers'],
  dmabuf: ['D', 'DMA-BUF heap', 'buffers of the heap "system"'],
  swap: ['Z', 'Compressed swap', 'what zram and zswap take'],
  cache: ['P', 'Page cache', 'files; given back when needed'],
  free: ['.', 'Free', ''],
};
const REST = ['?', 'Not counted by anything', "drivers' own pages, and parts that are not known"];
const OF = {module: 'the module', physical: 'the physical memory', linux: 'what Linux owns'};

export function budget(all) {
  const parts = (all.parts ?? []).map(partOf);
  const whole = all.bytes;
  const inside = parts.filter((part) => part.bytes !== undefined && !part.outside && !part.none);
  if (all.rest_bytes !== undefined) inside.push(rest(all));
  const summed = inside.filter((part) => part.bytes > 0);
  const outside = parts.filter((part) => !inside.includes(part));
  return el(
    'div',
    {class: 'budget'},
    el(
      'h3',
      {},
      whole === undefined
        ? 'Where the memory is'
        : `Where the ${bytes(whole)} of ${OF[all.of] ?? words(all.of)} are`,
    ),
    whole === undefined
      ? el(
          'p',
          {class: 'unavailable'},
          `How much there is in all is not known: ${short(
            all.absent?.bytes ?? 'not told by this device',
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
    bytes: all.rest_bytes,
    isRest: true,
    what:
      all.rest_bytes < 0
        ? 'below zero: parts overlap, or were read at different moments'
        : all.rest_holds_unknown
          ? 'a part that is not known is in it'
          : what,
  };
}

// The table beneath says it all: for a screen reader the bar is one picture with one sentence.
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
  const pieces = (part.made_of ?? [])
    .filter((piece) => piece.bytes !== 0)
    .map((piece) => `${words(piece.part)} ${bytes(piece.bytes)}`)
    .join(', ');
  const told =
    part.told_bytes === undefined
      ? ''
      : `${bytes(part.told_bytes)}, which overlaps with other parts`;
  const outside = part.outside ? 'no part of the whole' : '';
  const why =
    part.bytes === undefined
      ? short(part.absent?.bytes ?? (part.none ? '' : 'not told by this device'), 400)
      : '';
  const text = [part.what, pieces, told, outside, why].filter(Boolean).join('; ');
  return text ? el('span', {class: 'note'}, text) : ' ';
}
