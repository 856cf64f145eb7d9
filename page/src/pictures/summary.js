// SPDX-License-Identifier: Apache-2.0
// A chart summarised in words.

import {fullTime} from './time_axis.js';

// Statistics of one line: {latest, latestTime, least, greatest, trend}, or null without a point.
export function figures(points) {
  const good = points.filter(({min, average, max}) => [min, average, max].every(Number.isFinite));
  if (good.length === 0) return null;
  let least = Infinity;
  let greatest = -Infinity;
  for (const {min, max} of good) {
    least = Math.min(least, min);
    greatest = Math.max(greatest, max);
  }
  const latest = good.reduce((a, b) => (b.time >= a.time ? b : a));
  return {
    latest: latest.average,
    latestTime: latest.time,
    least,
    greatest,
    trend: trendOf(good, least, greatest)
  };
}

const mean = (points) => points.reduce((sum, {average}) => sum + average, 0) / points.length;

// The last quarter of the points compared with the first.
function trendOf(points, least, greatest) {
  if (points.length < 8) return '';
  const quarter = points.length >> 2;
  const first = mean(points.slice(0, quarter));
  const last = mean(points.slice(-quarter));
  const by = last - first;
  const matters =
      Math.max(0.15 * (greatest - least), 0.01 * Math.max(Math.abs(first), Math.abs(last)));
  return Math.abs(by) < matters || by === 0 ? 'steady' : by > 0 ? 'rising' : 'falling';
}

// The time of the latest value. A point of a long range covers hours, so it is not "now".
export function latestText({latestTime}, to, step) {
  if (to - latestTime > 2.5 * step + 60) return `when last recorded, ${fullTime(latestTime, 60)}`;
  return step > 60 ? `on average since ${fullTime(latestTime, 60)}` : 'now';
}

// One line of a chart in words. `to`: the end of the range; `step`: between two points.
export function sentence(name, known, text, to, step) {
  if (known === null) return `${name}: nothing recorded.`;
  const latest = `${text(known.latest)} ${latestText(known, to, step)}`;
  if (known.least === known.greatest) return `${name}: ${latest}, without change.`;
  const trend = known.trend === '' ? '' : `, ${known.trend}`;
  return `${name}: ${latest}, from ${text(known.least)} to ${text(known.greatest)}${trend}.`;
}
