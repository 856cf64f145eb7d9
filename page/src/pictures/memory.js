// SPDX-License-Identifier: Apache-2.0
// Charts of memory, of contiguous areas, and of memory holders.

import {linePicture} from './line_picture.js';

const one = (name, all) => all.map(({points}) => ({name, points}));

async function named(ask, list) {
  const lines = [];
  for (const [metric, name] of list) lines.push(...one(name, await ask(metric)));
  return lines;
}

export const memoryPicture = (page) => linePicture(page, {
  title: 'Memory over time',
  unit: 'bytes',
  sources: ['meminfo'],
  load: (ask) => named(
      ask,
      [
        ['jetmem_meminfo_MemAvailable_bytes', 'available'],
        ['jetmem_meminfo_MemFree_bytes', 'free'],
        ['jetmem_meminfo_AnonPages_bytes', 'programs'],
        ['jetmem_meminfo_Cached_bytes', 'page cache'],
        ['jetmem_nvmap_total_bytes', 'GPU and camera (nvmap)'],
      ]),
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

export const cmaPicture = (page) => linePicture(page, {
  title: 'Contiguous memory (CMA) over time',
  unit: 'bytes',
  sources: ['cma', 'meminfo'],
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
  load: async (ask) =>
      [...ofArea('largest free block', await ask('jetmem_cma_largest_free_run_bytes')),
       ...one('largest refused request', await ask('jetmem_cma_largest_request_bytes')),
],
});

const HELD = [
  'jetmem_process_group_resident_bytes', 'jetmem_process_group_gpu_bytes',
  'jetmem_process_group_dmabuf_bytes', 'jetmem_process_group_mapped_bytes'
];
// Part of the others: what is subtracted from them.
const MAPPED = HELD[3];
const negative = (points) =>
    points.map((point) => ({...point, min: -point.max, average: -point.average, max: -point.min}));

// Sums several series: [{points}] -> points. A partial sum is none: from the first point of a series
// on, in each boot, it must have one at every moment of the sum. Points merged from several carry the
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
      begins.every((first, index) => of.has(index) || !(first.get(boot) <= time));
  return [...all.values()]
      .filter(whole)
      .map(({of, ...point}) => point)
      .sort((a, b) => a.time - b.time);
}

function holder(groups, step) {
  const [{labels}] = groups;
  const where = labels.container ? ` (${labels.container.slice(0, 12)})` : '';
  const other = labels.command === 'other' && !labels.unit ? 'all others' : labels.command;
  return {name: `${other}${where}`, unit: labels.unit, points: sums(groups, step)};
}

export const holdersPicture = (page) => linePicture(page, {
  title: 'Memory holders over time',
  unit: 'bytes',
  sources: ['processes'],
  note: 'Resident, GPU and DMA-BUF memory of each group together, as far as each could be read; ' +
      'mapped GPU buffers count once, shared memory counts in each.',
  async load(ask, {step}) {
    const groups = new Map();
    for (const metric of HELD) {
      for (const each of await ask(metric)) {
        const key = `${each.labels.command}\n${each.labels.unit}\n${each.labels.container}`;
        const part = metric === MAPPED ? {...each, points: negative(each.points)} : each;
        groups.set(key, [...(groups.get(key) ?? []), part]);
      }
    }
    const lines = [...groups.values()].map((each) => holder(each, step));
    // Equal names are distinguished by their unit.
    return lines.map((line) => ({
                       ...line,
                       name: lines.filter(({name}) => name === line.name).length > 1 ?
                           `${line.name}, ${line.unit}` :
                           line.name,
                     }));
  },
});
