// SPDX-License-Identifier: Apache-2.0
// Memory holders: processes, the GPU's heaps, shared buffers.

import {absences, why} from '../absent.js';
import {el, update} from '../dom.js';
import {figures} from '../stats.js';
import {bytes, count, many, rate} from '../format.js';
import {holdersPicture} from '../pictures/index.js';
import {fill, unavailable} from '../section.js';
import {sortable} from '../table.js';
import {named, short} from '../text.js';

export const holders = {
  id: 'holders',
  title: 'Memory holders',
  inShort: 'Holders',
  brief: ({gpu: {processes: [first] = []} = {}}) => [
    first ? `${named(first.process)} has ${bytes(first.bytes)} of GPU memory` : '',
  ],
  create(body, page) {
    const groups = sortable('Processes by name, unit and container', GROUPS, 'Together');
    const nvmap = sortable('Memory of GPU, cameras and codecs (nvmap), by heap', HEAPS, 'Size');
    const clients = sortable('The same by process', CLIENTS, 'Size', 'small');
    const owners = sortable(
      'Processes with open DMA-BUFs',
      buffers('Command', 'command'),
      'Size',
      'small',
    );
    const exporters = sortable(
      'DMA-BUFs by exporter',
      buffers('Exporter', 'exporter'),
      'Size',
      'small',
    );
    const bodies = {groups: el('div'), nvmap: el('div'), dmabuf: el('div')};
    fill(body, page, 'top', 5, (top) => {
      groups.fill(top.groups ?? []);
      update(bodies.groups, ofGroups(top));
      nvmap.fill(top.nvmap ?? []);
      clients.fill(clientsOf(top.nvmap ?? []));
      update(bodies.nvmap, ofHeaps(top));
      owners.fill(top.dmabuf?.holders ?? []);
      exporters.fill(top.dmabuf?.exporters ?? []);
      update(bodies.dmabuf, ofBuffers(top));
      return el('p', {class: 'quiet'}, remarks(top));
    });
    body.append(
      groups.node,
      bodies.groups,
      el('div', {class: 'pictures'}, holdersPicture(page)),
      bodies.nvmap,
      el('div', {class: 'columns'}, nvmap.node, clients.node),
      bodies.dmabuf,
      el('div', {class: 'columns'}, owners.node, exporters.node),
    );
  },
};

const isKnown = (value) => value !== undefined;
const signed = (value) =>
  isKnown(value) ? (value === 0 ? '0' : `${value > 0 ? '+' : ''}${rate(value)}`) : '';

const column = (name, key, format = bytes) => ({
  name,
  kind: 'number',
  by: (row) => row[key],
  of: (row) => format(row[key]),
});

const GROUPS = [
  {
    name: 'Command',
    head: true,
    by: (row) => row.command,
    of: (row) => [el('span', {class: 'name'}, named(row.command)), where(row)],
  },
  column('Processes', 'processes', count),
  column('Together', 'total_bytes'),
  column('Resident', 'resident_bytes'),
  column('Shared', 'shared_bytes'),
  column('GPU', 'gpu_bytes'),
  column('DMA-BUF', 'dmabuf_bytes'),
  column('Mapped', 'mapped_bytes'),
  column('Grows now', 'growth_bytes_per_second', signed),
  column('Over hours', 'trend_bytes_per_second', signed),
];

function where({unit, container}) {
  const text = [unit && short(unit), container && `container ${short(container, 20)}`]
    .filter(Boolean)
    .join(', ');
  return text ? el('span', {class: 'note'}, text) : null;
}

const HEAPS = [
  {
    name: 'Heap',
    head: true,
    by: (row) => row.heap,
    of: (row) => el('span', {class: 'name'}, named(row.heap)),
  },
  column('Size', 'bytes'),
  column('Without a client', 'orphan_bytes'),
  column('Not attributed', 'unattributed_bytes'),
  column('Own carve-out', 'carveout_bytes'),
];

const CLIENTS = [
  {
    name: 'Process',
    head: true,
    by: (row) => row.process,
    of: (row) => el('span', {class: 'name'}, named(row.process)),
  },
  {name: 'Heap', by: (row) => row.heap, of: (row) => short(row.heap)},
  column('Size', 'bytes'),
];

const clientsOf = (heaps) =>
  heaps.flatMap((heap) => (heap.processes ?? []).map((each) => ({...each, heap: heap.heap})));

const buffers = (name, key) => [
  {
    name,
    head: true,
    by: (row) => row[key],
    of: (row) => el('span', {class: 'name'}, named(row[key])),
  },
  column('Size', 'bytes'),
  column('Buffers', 'buffers', count),
];

function remarks(top) {
  const parts = [];
  if (isKnown(top.processes)) parts.push(many(top.processes, 'process', 'processes'));
  if (top.processes_omitted > 0)
    parts.push(`${count(top.processes_omitted)} could not be read`);
  const overlap = top.overlap ? `${short(top.overlap, 400)}.` : '';
  const begin = parts.length > 0 ? `${parts.join(', ')}. ` : '';
  return `${begin}${overlap.charAt(0).toUpperCase()}${overlap.slice(1)}`;
}

function ofGroups(top) {
  const none = (top.groups ?? []).length === 0;
  return [
    none
      ? unavailable('Processes', why(top.absent, 'processes') || 'the device reported none')
      : null,
    top.groups_omitted > 0
      ? el('p', {class: 'quiet'}, `and ${many(top.groups_omitted, 'more group', 'more groups')}`)
      : null,
    absences(top.absent, [
      'nvmap',
      'zram',
      'dmabuf',
      'dmabuf.unowned_bytes',
      none ? 'processes' : '',
    ]),
  ];
}

function ofHeaps(top) {
  if ((top.nvmap ?? []).length > 0) return [clientless(top), ...(top.nvmap_ended ?? []).map(ended)];
  return unavailable(
    'Memory by heap (nvmap)',
    why(top.absent, 'nvmap') || 'the device reported no heap',
  );
}

const heldBy = (holders) =>
  holders.map((each) => `${short(each.process)} ${bytes(each.bytes)}`).join(', ');

function clientless({nvmap_clientless: all = {}, absent = {}}) {
  if (!(all.bytes > 0)) return null;
  const parts = [`Buffers without an nvmap client: ${bytes(all.bytes)}`];
  if ((all.holders ?? []).length > 0)
    parts.push(`held by descriptors or mappings of ${heldBy(all.holders)}`);
  if (!isKnown(all.held_bytes)) {
    const reason = why(absent, 'nvmap_clientless.held_bytes');
    parts.push(`whether processes have the rest open or mapped is not known: ${reason}`);
  } else if (all.orphaned_bytes > 0) {
    parts.push(`orphaned (held by drivers, not by processes alone): ${bytes(all.orphaned_bytes)}`);
  }
  return el('p', {class: 'quiet'}, `${parts.join('; ')}.`);
}

function ended({process, holder, certain, bytes: size}) {
  const who = holder ? short(holder) : 'a process that inherited /dev/nvmap';
  return el('p', {class: 'quiet'}, `${short(process)} has ended; ${who} ${certain ? 'holds' : 'may hold'} its ${bytes(size)}.`);
}

function ofBuffers({dmabuf: all = {}, absent = {}}) {
  if (!isKnown(all.bytes) && !isKnown(all.held_bytes)) {
    return unavailable('Shared buffers (DMA-BUF)', why(absent, 'dmabuf'));
  }
  return [
    el('h3', {}, 'Shared buffers (DMA-BUF)'),
    figures([
      {name: 'In all', text: bytes(all.bytes), key: 'dmabuf', absent},
      {name: 'Open in a process', text: bytes(all.held_bytes)},
      {name: 'Open in several', text: bytes(all.shared_bytes)},
      {
        name: 'Open in no process',
        text: bytes(all.unowned_bytes),
        key: 'dmabuf.unowned_bytes',
        absent,
      },
    ]),
    all.processes_denied > 0
      ? el(
          'p',
          {class: 'quiet'},
          `${many(all.processes_denied, 'process', 'processes')} could not be read.`,
        )
      : null,
  ];
}
