// SPDX-License-Identifier: Apache-2.0
// Four values that say how the device is: memory, the largest free block, the GPU, heat; each with
// how it went over the time that the charts show.

import {why} from '../absent.js';
import {el, update} from '../dom.js';
import {bytes, celsius, marginText, ratio} from '../format.js';
import {levelOf} from '../level.js';
import {series} from '../pictures/history.js';
import {short} from '../text.js';

import {sparkline} from './sparkline.js';

// Of each: of(status) -> {name, text, note, why, metric (of the sparkline), labels (of its series; none:
// the first one), fromZero (whether the sparkline is)}; about: what an alert on it names.
const TILES = [
  {id: 'memory', about: /MemAvailable|memory_(available|exhaustion)|oom_/, of: memory},
  {id: 'cma', about: /cma_|dma_recent|buddy|fragmentation/, of: block},
  {id: 'holders', about: /gpu_|nvmap/, of: gpu},
  {id: 'thermal', about: /thermal|throttl|overcurrent/, of: heat},
];

function memory({memory: all = {}, absent}) {
  return {
    name: 'Available memory',
    text: bytes(all.available_bytes),
    note: all.available_ratio === undefined
      ? ''
      : `${ratio(all.available_ratio)} of ${bytes(all.total_bytes)}`,
    why: why(absent, 'available_bytes'),
    metric: 'jetmem_meminfo_MemAvailable_bytes',
    fromZero: true,
  };
}

// In the contiguous area that has the smallest one; on a device without any, outside of CMA.
function block({cma = {}, fragmentation = {}, absent}) {
  const areas = (cma.areas ?? []).filter((each) => each.largest_run_bytes !== undefined);
  if (areas.length > 0) {
    const [area] = [...areas].sort((a, b) => a.largest_run_bytes - b.largest_run_bytes);
    return {
      name: 'Largest free CMA block',
      text: bytes(area.largest_run_bytes),
      note: area.wanted_bytes === undefined
        ? `of ${bytes(area.bytes)}`
        : `largest wanted: ${bytes(area.wanted_bytes)}`,
      metric: 'jetmem_cma_largest_free_run_bytes',
      labels: {area: area.area},
      fromZero: true,
    };
  }
  const best = fragmentation.best_bytes_outside_cma;
  return {
    name: 'Largest free block',
    text: best === 0 ? 'none' : bytes(best),
    note: 'outside CMA',
    why: why(fragmentation.absent, 'best_bytes') || why(absent, 'fragmentation'),
    metric: 'jetmem_buddy_best_outside_cma_bytes',
    fromZero: true,
  };
}

const quoted = (text) => `"${String(text).replace(/[\\"]/g, '\\$&')}"`;

function gpu({gpu: all = {}, absent}) {
  const [first] = all.processes ?? [];
  return {
    name: 'GPU memory',
    text: all.none ? 'none' : bytes(all.bytes),
    note: first ? `${short(first.process, 40)} ${bytes(first.bytes)}` : '',
    why: why(absent, 'gpu_bytes') || why(absent, 'gpu'),
    metric: 'jetmem_nvmap_total_bytes',
    fromZero: true,
  };
}

function heat({thermal = {}, absent}) {
  const {hottest, throttling_level: level} = thermal;
  const margins = Object.entries(hottest?.margin_celsius ?? {}).sort((a, b) => a[1] - b[1]);
  const next = margins[0] ? `${marginText(...margins[0], 0)}, ` : '';
  return {
    name: level > 0 ? 'Heat: slowed down' : 'Heat',
    text: celsius(hottest?.celsius),
    note: hottest ? `${next}${short(hottest.zone, 40)}` : '',
    level: level > 1 ? 'critical' : level > 0 ? 'warning' : '',
    why: why(thermal.absent, 'hottest') || why(absent, 'thermal') || why(absent, 'zones'),
    metric: hottest ? `jetmem_thermal_zone_celsius{zone=${quoted(hottest.zone)}}` : '',
  };
}

// The level of the worst alert that fires on what a tile shows.
function alertLevel(tile, rules) {
  const rule = (rules ?? []).find(
    ({state, inhibited, conditions}) =>
      state === 'firing' && !inhibited &&
      (conditions ?? []).some(({expression}) => tile.about.test(expression ?? '')),
  );
  return rule ? levelOf(rule.severity) : '';
}

export function tiles(page) {
  const all = TILES.map((tile) => ({tile, line: sparkline(), metric: '', body: el('div', {})}));
  const node = el(
    'div',
    {class: 'tiles'},
    all.map((each) => {
      each.node = el('a', {class: 'tile', href: `#${each.tile.id}`}, each.body, each.line.node);
      return each.node;
    }),
  );
  const tell = () => {
    const status = page.device.latest('status');
    if (!status) return;
    const rules = page.device.latest('alerts')?.rules;
    for (const each of all) {
      const shown = each.tile.of(status);
      const isNew = each.metric !== shown.metric;
      Object.assign(each, {metric: shown.metric, labels: shown.labels, fromZero: shown.fromZero});
      each.node.className = `tile ${shown.level || alertLevel(each.tile, rules)}`.trim();
      update(
        each.body,
        el('span', {class: 'name'}, shown.name),
        shown.text
          ? el('span', {class: 'value'}, shown.text)
          : el('span', {class: 'value absent'}, 'not known'),
        el('span', {class: 'note'}, shown.text ? shown.note : shown.why),
      );
      if (isNew) draw(each, page.range, () => each.metric === shown.metric);
    }
  };
  page.device.watch('status', 3, tell);
  page.device.watch('alerts', 15, tell, () => false);

  async function draw(each, range, isCurrent) {
    if (!each.metric) return each.line.clear();
    try {
      const all = await series(page, each.metric, range);
      const wanted = Object.entries(each.labels ?? {});
      const found = all.find(({labels}) => wanted.every(([name, value]) => labels[name] === value));
      if (isCurrent()) each.line.fill(found, range, page.device.time(), each.fromZero);
    } catch {
      // The charts report why; a tile has its value without.
      if (isCurrent()) each.line.clear();
    }
    return undefined;
  }
  page.picture(async (range, isCurrent) => {
    for (const each of all) if (isCurrent()) await draw(each, range, isCurrent);
  });
  return node;
}
