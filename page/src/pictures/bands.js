// SPDX-License-Identifier: Apache-2.0
// When alerts fired, and the thresholds of the rules on what a chart shows.

import {short} from '../text.js';

// Kinds of events that end an alert: its condition ended, nobody sees it, another one covers it, or its
// rule was removed.
const ENDS = new Set(['resolved', 'unknown', 'inhibited', 'withdrawn']);

// What alertBands() has to know; 'start' (of jetmemd) begins a boot at the latest.
export const BAND_KINDS = new Set(['firing', ...ENDS, 'start']);

// [{alert, severity, from, to}], the earliest first. `alerts`: events of BAND_KINDS, newest first,
// some perhaps from before what is shown; `rules`: of /api/v1/alerts, known before the events were
// asked for, and evaluated at `rulesAt`. Without its end an alert ended with its boot. One that does
// not fire now though its end was lost is drawn where it is known to have fired: when it began.
export function alertBands({alerts = [], rules, rulesAt = Infinity}, range, now) {
  const to = Math.min(range.to ?? now, now);
  const from = (range.to ?? now) - range.seconds;
  const open = new Map();
  const bands = [];
  const end = (key, time) => {
    const band = open.get(key);
    open.delete(key);
    if (band) bands.push({...band, to: Math.max(band.from, time)});
  };
  let boot = null;
  let last = -Infinity;
  for (const event of [...alerts].reverse()) {
    const isTimed = Number.isFinite(event.time);
    const time = isTimed ? event.time : last;
    if (boot !== null && event.boot !== boot) {
      for (const [key, band] of [...open]) if (band.boot !== event.boot) end(key, time);
    }
    boot = event.boot;
    last = time;
    const key = `${event.subject} ${JSON.stringify(event.fields?.labels ?? {})}`;
    if (ENDS.has(event.kind)) end(key, time);
    if (event.kind !== 'firing' || !isTimed || open.has(key)) continue;
    open.set(key, {
      alert: short(event.subject ?? '', 120),
      severity: event.severity,
      boot: event.boot,
      from: event.time,
    });
  }
  const firing = new Set(
      (rules ?? []).filter(({state}) => state === 'firing').map(({alert}) => short(alert ?? '', 120)));
  // The rules say nothing about what began after their evaluation, and about a past before it.
  const isSaid = rules && (range.to === undefined || rulesAt <= range.to);
  const isOver = (band) => isSaid && !firing.has(band.alert) && band.from <= rulesAt;
  for (const [key, band] of [...open]) end(key, isOver(band) ? band.from : to);
  const shown = bands.filter((band) => band.to >= from && band.from <= (range.to ?? now));
  return merged(shown.sort((a, b) => a.from - b.from));
}

// One alert fires from the first of its series to the last.
function merged(bands) {
  const out = [];
  for (const band of bands) {
    const last = out.findLast(({alert}) => alert === band.alert);
    if (last && band.from <= last.to) {
      last.to = Math.max(last.to, band.to);
    } else {
      out.push({...band});
    }
  }
  return out;
}

const OVER_TIME = /^(?:(?:avg|min|max)_over_time\()?([a-zA-Z_:][\w:]*)/;

// The metrics that an expression of a rule compares as they are, or averaged.
export const metricOf = (expression) => OVER_TIME.exec(expression ?? '')?.[1] ?? '';

// Thresholds of rules on a metric: [{value, level, name}], of their first conditions: the others only
// narrow them down. Equal ones are one, of the worst rule.
export function ruleLimits(rules, metric) {
  const base = metric.split('{', 1)[0];
  const out = new Map();
  for (const rule of rules ?? []) {
    const {expression, threshold, comparison} = rule.conditions?.[0] ?? {};
    if (metricOf(expression) !== base || !Number.isFinite(threshold)) continue;
    if (!/^(above|below|at_least|at_most)$/.test(comparison) || out.has(threshold)) continue;
    out.set(threshold, {value: threshold, level: rule.severity, name: short(rule.alert, 60)});
  }
  return [...out.values()];
}
