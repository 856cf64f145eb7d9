// SPDX-License-Identifier: Apache-2.0
// When alerts fired, and the thresholds of the rules on what a chart shows.

import {short} from '../text.js';

// [{alert, severity, from, to, isOpen}], the earliest first. `changes`: events of alerts, newest
// first, some perhaps from before what is shown; `rules`: of /api/v1/alerts, where now is shown.
// Without its end an alert that does not fire now ended with its boot.
export function alertBands(changes, rules, range, now) {
  const to = Math.min(range.to ?? now, now);
  const from = (range.to ?? now) - range.seconds;
  const open = new Map();
  const bands = [];
  const end = (key, time, isOpen = false) => {
    const band = open.get(key);
    open.delete(key);
    if (band) bands.push({...band, to: time, isOpen});
  };
  let boot = null;
  for (const event of [...changes].reverse()) {
    if (!Number.isFinite(event.time)) continue;
    const key = `${event.subject} ${JSON.stringify(event.fields?.labels ?? {})}`;
    if (boot !== null && event.boot !== boot) {
      for (const [other, band] of [...open]) if (band.boot !== event.boot) end(other, event.time);
    }
    boot = event.boot;
    if (event.kind === 'resolved') end(key, event.time);
    if (event.kind !== 'firing' || open.has(key)) continue;
    open.set(key, {
      alert: short(event.subject ?? '', 120),
      severity: event.severity,
      boot: event.boot,
      from: event.time,
    });
  }
  const firing = new Set((rules ?? []).filter(({state}) => state === 'firing').map(({alert}) => alert));
  for (const [key, {alert}] of [...open]) end(key, to, firing.has(alert));
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
      last.isOpen ||= band.isOpen;
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
