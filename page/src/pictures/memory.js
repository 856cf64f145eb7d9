// SPDX-License-Identifier: Apache-2.0
// Charts of memory, of contiguous areas, and of memory holders.

import {bytes, ratio} from '../format.js';
import {short} from '../text.js';

import {ruleLimits} from './bands.js';
import {linePicture} from './line_picture.js';
import {layers} from './stack.js';

const one = (name, all) => all.map(({points}) => ({name, points}));

// Parts of MemTotal that do not overlap, from the bottom; the rest is what drivers took themselves.
const LAYERS = ['programs', 'GPU and camera (nvmap)', 'kernel', 'drivers and the rest', 'page cache', 'free'];
const NVMAP = 'jetmem_nvmap_heap_bytes{heap="iovmm"}';
const meminfo = (name) => `jetmem_meminfo_${name}_bytes`;
const PARTS = ['MemTotal', 'MemFree', 'AnonPages', 'Shmem', 'Cached', 'SReclaimable', 'SUnreclaim', 'PageTables'];

function layersOf([total, free, programs, shared, cached, reclaimable, slab, tables, gpu = 0]) {
  const known = [programs + shared, gpu, slab + tables];
  const cache = Math.max(0, cached - shared) + reclaimable;
  const rest = total - known.reduce((sum, each) => sum + each, 0) - cache - free;
  return [...known, Math.max(0, rest), cache, free];
}

async function memoryParts(ask, {step}) {
  const available = await ask(meminfo('MemAvailable'));
  const found = [];
  for (const name of PARTS) found.push(await ask(meminfo(name)));
  const gpu = await ask(NVMAP);
  const isWhole = found.every((each) => each.length === 1);
  // Without all of the parts there is no whole to be divided: lines.
  if (!isWhole) {
    return [
      ...one('available', available),
      ...one('free', found[1]),
      ...one('programs', found[2]),
      ...one('page cache', found[4]),
      ...one('GPU and camera (nvmap)', gpu),
    ];
  }
  const parts = [...found, ...(gpu.length === 1 ? [gpu] : [])].map(([each]) => each);
  const all = layers(parts, step, layersOf);
  const areas = LAYERS.map((name, i) => ({name, points: all[i] ?? [], fills: i + 1}))
                    .filter((_, i) => i !== 1 || gpu.length === 1);
  if (available.length !== 1) return areas;
  // What the rules look at: the page cache counts as available only as far as it can be reclaimed.
  const [used = []] =
      layers([found[0][0], available[0]], step, ([total, free]) => [total - free]);
  return [...areas, {name: 'not available', points: used}];
}

// Where the top of what is in use must not come: so much below the whole.
function memoryLimits(device) {
  const status = device.latest('status');
  const total = status?.memory?.total_bytes;
  if (!(total > 0)) return [];
  const zones = status.fragmentation?.zones ?? [];
  const low = zones.reduce((sum, zone) => sum + (zone.watermark_low_bytes ?? NaN), 0);
  const rules = ruleLimits(device.latest('alerts')?.rules, 'jetmem_memory_available_ratio');
  return [
    ...rules.map(({value, level, name}) => ({
                   value: total * (1 - value),
                   level,
                   text: `${ratio(value)} left: ${name}`,
                 })),
    zones.length > 0 && Number.isFinite(low) &&
        {value: total - low, level: 'info', text: `low watermarks: ${bytes(low)} left`},
  ].filter(Boolean);
}

export const memoryPicture = (page) => linePicture(page, {
  title: 'Memory over time',
  unit: 'bytes',
  sources: ['meminfo'],
  limits: memoryLimits,
  load: memoryParts,
});

export const pressurePicture = (page) => linePicture(page, {
  title: 'Time stalled on memory',
  unit: 'ratio',
  sources: ['pressure'],
  load: async (ask) =>
      (await ask('jetmem_pressure_stall_ratio{resource="memory"}'))
          .map(({labels, points}) => ({
                 name: labels.kind === 'full' ? 'all tasks stalled' : 'some task stalled',
                 points,
               }))
          .sort((a, b) => b.name.localeCompare(a.name)),
});

const ofArea = (what, all) => all.map(({labels, points}) => ({
                                        name: all.length > 1 ? `${labels.area}: ${what}` : what,
                                        points,
                                      }));

const areasOf = (device) => device.latest('status')?.cma?.areas ?? [];

// The size of each area, and how much of it may be allocated before a rule fires.
function cmaLimits(device) {
  const rules = ruleLimits(device.latest('alerts')?.rules, 'jetmem_cma_used_ratio');
  return areasOf(device).flatMap(({area, bytes: size}, i, all) => {
    const of = all.length > 1 ? `${short(area, 40)}: ` : '';
    return [
      {value: size, level: 'info', text: `${of}size ${bytes(size)}`},
      ...rules.map(({value, level, name}) => ({
                     value: value * size,
                     level,
                     text: `${of}${ratio(value)}: ${name}`,
                   })),
    ];
  });
}

export const cmaPicture = (page) => linePicture(page, {
  title: 'Contiguous memory (CMA) over time',
  unit: 'bytes',
  sources: ['cma', 'meminfo'],
  limits: cmaLimits,
  load: async (ask) =>
      [...ofArea('allocated by drivers', await ask('jetmem_cma_used_bytes')),
       ...ofArea('free for drivers', await ask('jetmem_cma_available_bytes')),
       ...one('free now (CmaFree)', await ask('jetmem_meminfo_CmaFree_bytes')),
],
});

export const largestRunPicture = (page) => linePicture(page, {
  title: 'Largest free block in CMA',
  unit: 'bytes',
  sources: ['cma'],
  note: 'A buffer larger than the largest block cannot be allocated, however much is free.',
  limits: (device) => areasOf(device).map(({area, wanted_bytes: value}, i, all) => ({
                        value,
                        level: 'critical',
                        text: `${all.length > 1 ? `${short(area, 40)}: ` : ''}largest wanted: ${bytes(value)}`,
                      })),
  load: async (ask) =>
      [...ofArea('largest free block', await ask('jetmem_cma_largest_free_run_bytes')),
       ...one('largest refused request', await ask('jetmem_cma_largest_request_bytes')),
],
});

export const cmaOwnersPicture = (page) => linePicture(page, {
  title: 'Who allocated contiguous memory',
  unit: 'bytes',
  sources: ['cma_map'],
  load: async (ask) => {
    const all = await ask('jetmem_cma_owner_bytes');
    const areas = new Set(all.map(({labels}) => labels.area));
    return all.map(({labels: {area, owner}, points}) => ({
                     name: areas.size > 1 ? `${short(area, 40)}: ${short(owner, 40)}` : short(owner, 40),
                     points,
                   }));
  },
});

const HELD = [
  'jetmem_process_group_resident_bytes', 'jetmem_process_group_gpu_bytes',
  'jetmem_process_group_dmabuf_bytes', 'jetmem_process_group_mapped_bytes'
];
// Part of the others: what is subtracted from them.
const MAPPED = HELD[3];
const negative = (points) =>
    points.map((point) => ({...point, min: -point.max, average: -point.average, max: -point.min}));

// Sums several series: [{points}] -> points. A partial sum is none: the first series must have a point
// at every moment of the sum, and another one from its first point on, in each boot. Points merged from several carry the
// moment of their own first one: points of one step belong together. `step`: of the query; 0: points
// as recorded, with one moment per step.
export function sums(groups, step) {
  const all = new Map();
  const begins = groups.map(({points}) => {
    const first = new Map();
    for (const {boot, time} of points) {
      if (!(time >= first.get(boot))) first.set(boot, time);
    }
    return first;
  });
  groups.forEach(({points}, index) => {
    const mine = new Set();
    for (const point of points) {
      let key = `${point.boot} ${step > 0 ? Math.floor(point.time / step) : point.time}`;
      // A clock that was set back repeats a step.
      while (mine.has(key)) key += ' again';
      mine.add(key);
      const sum = all.get(key);
      if (!sum) {
        all.set(key, {...point, of: new Set([index])});
        continue;
      }
      sum.of.add(index);
      sum.time = Math.min(sum.time, point.time);
      // The parts may have their minimum at different moments: the band is as wide as possible.
      for (const each of ['min', 'average', 'max']) sum[each] += point[each];
    }
  });
  const whole = ({of, boot, time}) =>
      begins.every(
          (first, index) => of.has(index) || (index > 0 && !(first.get(boot) <= time)));
  return [...all.values()]
      .filter(whole)
      .map(({of, ...point}) => point)
      .sort((a, b) => a.time - b.time);
}

// Of a group whose resident memory is not known only a part could be told, and of one whose buffers
// are not known too little, once what it has mapped of them is subtracted: null. Where nvmap's
// buffers are known, and what is mapped of them never was, all of them may be resident: the larger
// of both is the least that the group has.
export function holder(groups, step, hasNvmap) {
  const has = (metric) => groups.some((each) => each.metric === metric);
  if (!has(HELD[0]) || (has(MAPPED) && !has(HELD[1]) && !has(HELD[2]))) return null;
  const [{labels}] = groups;
  const where = labels.container ? ` (${labels.container.slice(0, 12)})` : '';
  const other = labels.command === 'other' && !labels.unit ? 'all others' : labels.command;
  const isLeast = hasNvmap && has(HELD[1]) && !has(MAPPED) &&
      groups.some(({metric, points}) => metric === HELD[1] && points.some(({max}) => max > 0));
  const points = isLeast ?
      layers(groups, step, ([resident, ...buffers]) => [Math.max(
                               resident, buffers.reduce((sum, each) => sum + each, 0))])[0] ?? [] :
      sums(groups, step);
  return {name: `${other}${where}${isLeast ? ' (at least)' : ''}`, unit: labels.unit, points};
}

export const holdersPicture = (page) => linePicture(page, {
  title: 'Memory holders over time',
  unit: 'bytes',
  sources: ['processes'],
  note: 'Resident, GPU and DMA-BUF memory of each group together, as far as each could be read; ' +
      'mapped GPU buffers count once, shared memory counts in each. At least: what is mapped is ' +
      'not known.',
  async load(ask, {step}) {
    const groups = new Map();
    for (const metric of HELD) {
      for (const each of await ask(metric)) {
        const key = `${each.labels.command}\n${each.labels.unit}\n${each.labels.container}`;
        const points = metric === MAPPED ? negative(each.points) : each.points;
        const part = {...each, metric, points};
        groups.set(key, [...(groups.get(key) ?? []), part]);
      }
    }
    const hasNvmap = (await ask(NVMAP)).length > 0;
    const lines = [...groups.values()].map((each) => holder(each, step, hasNvmap))
                      .filter((line) => line?.points.some(({max}) => max !== 0));
    // Equal names are distinguished by their unit.
    return lines.map((line) => ({
                       ...line,
                       name: lines.filter(({name}) => name === line.name).length > 1 ?
                           `${line.name}, ${line.unit}` :
                           line.name,
                     }));
  },
});
