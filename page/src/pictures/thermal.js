// SPDX-License-Identifier: Apache-2.0
// Charts of temperatures, throttling, power and probes.

import {celsius} from '../format.js';
import {words} from '../text.js';

import {linePicture} from './line_picture.js';

// Several of one name differ by index.
function byLabel(all, label) {
  const names = all.map(({labels}) => labels[label]);
  return all.map(({labels, points}) => ({
                   name: names.filter((name) => name === labels[label]).length > 1 ?
                       `${labels[label]} ${labels.index ?? ''}` :
                       labels[label],
                   points,
                 }));
}

// Trip points that do something, of all zones; equal ones are one.
function trips(device) {
  const out = new Map();
  for (const {trips: all = []} of device.latest('thermal')?.zones ?? []) {
    for (const {kind, celsius: value, bound} of all) {
      if (bound === false || kind === 'active') continue;
      out.set(`${kind} ${value}`, {
        value,
        level: kind === 'critical' || kind === 'hot' ? 'critical' : 'warning',
        text: `${words(kind)} ${celsius(value)}`,
      });
    }
  }
  return [...out.values()].sort((a, b) => a.value - b.value);
}

export function temperaturePicture(page) {
  const node = linePicture(page, {
    title: 'Temperatures over time',
    unit: 'celsius',
    sources: ['thermal'],
    limits: trips,
    load: async (ask) => byLabel(await ask('jetmem_thermal_zone_celsius'), 'zone'),
  });
  // Once, for the trip points, which do not change.
  const wants = () => page.device.latest('thermal') === null && node.checkVisibility();
  page.device.watch('thermal', 600, () => {}, wants);
  return node;
}

const one = (name, all) => all.map(({points}) => ({name, points}));

const levelPicture = (page) => linePicture(page, {
  title: 'Throttling over time',
  unit: 'level',
  stepped: true,
  sources: ['throttle', 'clocks', 'thermal'],
  note: '0: not slowed down; 1: slowed; 2: slowed hard.',
  load: async (ask) => one('throttling level', await ask('jetmem_throttling_level')),
});

const DOMAINS = {
  cpu: 'CPU',
  gpu: 'GPU',
  emc: 'memory',
  memory: 'memory'
};

const clocksPicture = (page) => linePicture(page, {
  title: 'Clocks over time',
  unit: 'hertz',
  stepped: true,
  sources: ['clocks'],
  note: 'Low while idle is normal.',
  load: async (ask) =>
      (await ask('jetmem_clock_hertz'))
          .map(({labels, points}) => ({
                 name: `${DOMAINS[labels.domain] ?? labels.domain} (${labels.clock})`,
                 points,
               })),
});

const bandwidthPicture = (page) => linePicture(page, {
  title: 'Memory bandwidth in use',
  unit: 'ratio',
  sources: ['clocks', 'tegrastats'],
  load: async (ask) =>
      [...one('at the clock of the moment', await ask('jetmem_emc_utilization_ratio')),
       ...one('of what the power mode allows', await ask('jetmem_emc_saturation_ratio')),
],
});

// What the kernel counts; of engines it does not count, tegrastats'.
export const enginesPicture = (page) => linePicture(page, {
  title: 'Load of GPU and engines over time',
  unit: 'ratio',
  sources: ['clocks', 'tegrastats'],
  note: 'Gaps: the engine was off. DLA and PVA have no load.',
  load: async (ask) => {
    const kernel = byLabel(await ask('jetmem_engine_load_ratio'), 'engine');
    const names = new Set(kernel.map(({name}) => name));
    const others = byLabel(await ask('jetmem_tegrastats_engine_utilization_ratio'), 'engine')
                       .filter(({name}) => !names.has(name) && !names.has(name.replace(/0$/, '')));
    return [...one('GPU', await ask('jetmem_gpu_load_ratio')), ...kernel, ...others];
  },
});

export {bandwidthPicture, clocksPicture, levelPicture};

export const powerPicture = (page) => linePicture(page, {
  title: 'Power over time',
  unit: 'watts',
  sources: ['power'],
  note: 'Rails overlap: one may feed the others. They do not add up.',
  load: async (ask) => byLabel(await ask('jetmem_rail_watts'), 'rail'),
});

const target = ({kind, target: of}) => (of ? `${kind} (${of})` : kind);

export const slownessPicture = (page) => linePicture(page, {
  title: 'How slow taking memory was',
  unit: 'times',
  stepped: true,
  sources: ['probe'],
  nothing:
      'Nothing recorded in this time: it takes five probes at the same clocks to compare with.',
  note: 'As a multiple of the median of earlier probes at the same clocks; after five of them.',
  load: async (ask) => (await ask('jetmem_probe_slowness_ratio'))
                           .map(({labels, points}) => ({name: target(labels), points})),
});

// The largest size tested of each kind: fragmentation affects it first.
export const allocatePicture = (page) => linePicture(page, {
  title: 'Time to have a large buffer',
  unit: 'seconds',
  stepped: true,
  sources: ['probe'],
  note: 'The largest buffer of each kind that was allocated successfully.',
  async load(ask) {
    const largest = new Map();
    for (const each of await ask('jetmem_probe_allocate_seconds')) {
      const name = target(each.labels);
      const known = largest.get(name);
      if (!known || Number(each.labels.bytes) > Number(known.labels.bytes)) largest.set(name, each);
    }
    return [...largest].map(([name, {labels, points}]) => ({
                              name: `${name}, ${Math.round(Number(labels.bytes) / 1024)} KiB`,
                              points,
                            }));
  },
});
