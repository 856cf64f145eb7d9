// SPDX-License-Identifier: Apache-2.0
// Which two charts explain the verdict: those of what the worst firing alert looks at.
//
// An alert is about the metrics, labels and kinds of events that its conditions name. A chart says in
// words what it shows, which metric it cannot do without, and which chart belongs beside it. A chart whose
// metric is not recorded is not shown. Where no chart knows an alert, the metric of the alert itself is
// drawn; without an alert, a general view.

import {alertNews} from '../alert_news.js';
import {levelOf} from '../level.js';
import {metricOf} from '../pictures/bands.js';
import {recordedNames} from '../pictures/history.js';
import {
  bandwidthPicture,
  buddyHeatMap,
  cmaPicture,
  enginesPicture,
  faultsPicture,
  holdersPicture,
  largestRunPicture,
  levelPicture,
  memoryPicture,
  metricPicture,
  powerPicture,
  pressurePicture,
  slownessPicture,
  temperaturePicture,
} from '../pictures/index.js';

// In the order in which they explain an alert that several fit.
const CHARTS = {
  largestRun: {
    about: /cma|dma_(recent|alloc)/,
    metric: 'jetmem_cma_largest_free_run_bytes',
    create: largestRunPicture,
    beside: 'cma',
  },
  cma: {
    about: /cma|dma_(recent|alloc)|reserved_memory/,
    metric: 'jetmem_cma_used_bytes',
    create: cmaPicture,
    beside: 'largestRun',
  },
  fragmentation: {
    about: /buddy|fragmentation|page_alloc|slab_alloc|driver_alloc|vmalloc/,
    metric: 'jetmem_buddy_free_blocks',
    create: buddyHeatMap,
    beside: 'memory',
  },
  pressure: {
    about: /pressure_stall|pswp|swap_error|zram/,
    metric: 'jetmem_pressure_stall_ratio',
    create: pressurePicture,
    beside: 'memory',
  },
  memory: {
    about: /MemAvailable|memory_(available|free|exhaustion)|oom_|watermark|pressure|pswp/,
    metric: 'jetmem_meminfo_MemAvailable_bytes',
    create: memoryPicture,
    beside: 'holders',
  },
  holders: {
    about: /nvmap|process_group|trend_|oom_|gpu_free|gpu_alloc|buffer_leak|nvbufsurface/,
    metric: 'jetmem_process_group_resident_bytes',
    create: holdersPicture,
    beside: 'memory',
  },
  temperature: {
    about: /thermal|throttl/,
    metric: 'jetmem_thermal_zone_celsius',
    create: temperaturePicture,
    beside: 'throttling',
  },
  throttling: {
    about: /throttl|overcurrent/,
    metric: 'jetmem_throttling_level',
    create: levelPicture,
    beside: 'power',
  },
  power: {
    about: /overcurrent|rail_/,
    metric: 'jetmem_rail_watts',
    create: powerPicture,
    beside: 'temperature',
  },
  bandwidth: {
    about: /emc_/,
    metric: 'jetmem_emc_utilization_ratio',
    create: bandwidthPicture,
    beside: 'engines',
  },
  events: {
    about: /kernel_(recent|events)|smmu|dma_map|swiotlb|host1x|camera/,
    metric: 'jetmem_kernel_events_total',
    create: faultsPicture,
    beside: 'memory',
  },
  engines: {
    about: /gpu_(hang|error|xid|mmu)|host1x/,
    metric: 'jetmem_gpu_load_ratio',
    create: enginesPicture,
    beside: 'temperature',
  },
  probes: {
    about: /probe_/,
    metric: 'jetmem_probe_slowness_ratio',
    create: slownessPicture,
    beside: 'largestRun',
  },
};

const expressionsOf = (rule) => (rule.conditions ?? []).map(({expression}) => expression ?? '');

// Two names of CHARTS, or {metric}: what to draw for the rules of /api/v1/alerts. `has(metric)`:
// whether it is recorded.
export function chartsFor(rules, has, isHot) {
  const firing = rules.filter(({state, inhibited}) => state === 'firing' && !inhibited);
  const out = [];
  const isDrawn = (name) => has(CHARTS[name].metric);
  const add = (each) => !out.includes(each) && out.push(each);
  for (const rule of firing.slice(0, 2)) {
    const all = expressionsOf(rule);
    const fits = Object.keys(CHARTS).filter(
      (name) => isDrawn(name) && all.some((text) => CHARTS[name].about.test(text)));
    fits.forEach(add);
    if (fits.length === 1 && isDrawn(CHARTS[fits[0]].beside)) add(CHARTS[fits[0]].beside);
    if (fits.length === 0) {
      const metric = all.map(metricOf).find(has);
      if (metric) out.push({metric});
    }
  }
  add('memory');
  add(isHot ? 'temperature' : 'pressure');
  return out.slice(0, 2);
}

// Fills `place`, and again when the verdict is another one.
export function explaining(page, place) {
  const made = new Map();
  let shown = '';
  let recorded = null;  // the metrics; null: not known

  const nodeOf = (each) => {
    const key = each.metric ?? each;
    if (!made.has(key))
      made.set(key, each.metric ? metricPicture(page, each.metric) : CHARTS[each].create(page));
    return made.get(key);
  };

  const draw = () => {
    const rules = page.device.latest('alerts')?.rules ?? [];
    const status = page.device.latest('status');
    const isFine = !status || ['ok', 'unknown'].includes(levelOf(status.level));
    const hot = status?.thermal?.hottest !== undefined;
    const has = (metric) => recorded?.has(metric) ?? true;
    const next = chartsFor(isFine ? [] : rules, has, hot);
    const key = JSON.stringify(next);
    if (key === shown) return;
    shown = key;
    place.replaceChildren(...next.map(nodeOf));
    page.draw();
  };
  const begin = async (answer) => {
    if (!answer || page.device.latest('status') === null) return;
    // Of a recording that is young there is more each time.
    recorded = await recordedNames(page).catch(() => recorded);
    draw();
  };
  page.device.watch('alerts', 15, begin, alertNews(page));
  page.device.watch('status', 3, begin);
  return place;
}
