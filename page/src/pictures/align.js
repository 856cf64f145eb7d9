// SPDX-License-Identifier: Apache-2.0
// Aligns the points of several lines on one time axis; gaps stay gaps.
//
// A point is connected to the one before unless it belongs to another boot, or is more than two and
// a half steps later. A clock that was set back mixes points of different boots; they are sorted by
// time, and points of different boots are not connected.

const RESOLUTIONS = {
  '1m': 60,
  '15m': 900
};
export const PATIENCE = 2.5;
const LEAST_STEP = 5;

function median(numbers) {
  if (numbers.length === 0) return 0;
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

// The usual distance of two points, by the resolution of the later one: (resolution) -> seconds.
// `step`: of the query.
export function stepsOf(lines, step = 0) {
  const apart = {};
  for (const {points} of lines) {
    for (let i = 1; i < points.length; ++i) {
      const between = points[i].time - points[i - 1].time;
      if (points[i].boot !== points[i - 1].boot || between <= 0) continue;
      (apart[points[i].resolution] ??= []).push(between);
    }
  }
  const usual = median(apart.raw ?? []);
  return (resolution) =>
             Math.max(step, RESOLUTIONS[resolution] ?? Math.min(usual, 120), LEAST_STEP);
}

const isValue = ({min, average, max, time}) => [min, average, max, time].every(Number.isFinite);

// lines: [{points}]. Returns {times, columns: [{average, min, max, lone}], boots: [{time, boot}],
// step, mixed}. A column has for each time a number, null (nothing recorded: the line is broken
// here) or undefined (another line has a point there). `lone`: points without neighbours to connect
// to. `boots`: the first points of boots other than the first.
export function align(lines, step = 0) {
  const clean = lines.map(({points}) => {
    const good = points.filter(isValue);
    const sorted = good.every((each, i) => i === 0 || each.time >= good[i - 1].time);
    return {points: sorted ? good : [...good].sort((a, b) => a.time - b.time), sorted};
  });
  const stepOf = stepsOf(clean, step);
  const all = new Set();
  const gaps = clean.map(({points}) => gapsOf(points, stepOf, all));
  const times = Float64Array.from(all).sort();
  const at = new Map();
  times.forEach((time, i) => at.set(time, i));
  const columns = clean.map(({points}, i) => column(points, gaps[i], times.length, at));
  return {
    times: [...times],
    columns,
    boots: bootsOf(clean),
    step: stepOf(clean.find(({points}) => points.length > 0)?.points.at(-1).resolution),
    mixed: clean.some(({sorted}) => !sorted),
  };
}

// Where a line must be broken: a step after the point before, and again just before the next one,
// so that each stands for its own time only.
function gapsOf(points, stepOf, all) {
  const gaps = [];
  points.forEach((point, i) => {
    all.add(point.time);
    if (i === 0) return;
    const before = points[i - 1];
    const between = point.time - before.time;
    const step = Math.max(stepOf(point.resolution), stepOf(before.resolution));
    const far = between > PATIENCE * step;
    if (!far && point.boot === before.boot) return;
    const end = before.time + Math.min(stepOf(before.resolution), between / 2);
    const ends = far ? [end, Math.max(end, point.time - 0.1 * step)] : [end];
    for (const each of ends) {
      gaps.push(each);
      all.add(each);
    }
  });
  return gaps;
}

function column(points, gaps, length, at) {
  const none = () => Array(length).fill(undefined);
  const out = {average: none(), min: none(), max: none(), merged: false};
  for (const point of points) {
    const i = at.get(point.time);
    out.average[i] = point.average;
    out.min[i] = point.min;
    out.max[i] = point.max;
    out.merged ||= point.count > 1;
  }
  for (const gap of gaps) {
    const i = at.get(gap);
    // Two boots at the same moment: the point stays.
    if (out.average[i] === undefined) out.average[i] = out.min[i] = out.max[i] = null;
  }
  out.lone = lonePoints(out.average);
  return out;
}

// Isolated points would be invisible.
function lonePoints(values) {
  const out = [];
  const seen = [];
  values.forEach((value, i) => value !== undefined && seen.push(i));
  seen.forEach((index, k) => {
    if (values[index] === null) return;
    const before = k > 0 ? values[seen[k - 1]] : null;
    const after = k + 1 < seen.length ? values[seen[k + 1]] : null;
    if (before === null && after === null) out.push(index);
  });
  return out;
}

function bootsOf(clean) {
  const first = new Map();
  for (const {points} of clean) {
    for (const {boot, time} of points) {
      if (!(time >= first.get(boot))) first.set(boot, time);
    }
  }
  return [...first].map(([boot, time]) => ({boot, time})).sort((a, b) => a.time - b.time).slice(1);
}

// The index of the time that is nearest; the times ascend.
export function nearestTo(times, time) {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low > 0 && time - times[low - 1] < times[low] - time ? low - 1 : low;
}

// The index of the value that a line shows at an index of the axis: there, or close by where only
// other lines have a point. -1: none.
export function shownAt(times, values, index, step) {
  if (values[index] === null) return -1;
  if (values[index] !== undefined) return index;
  for (let far = 1; far < times.length; ++far) {
    for (const i of [index - far, index + far]) {
      if (i < 0 || i >= times.length) continue;
      if (Math.abs(times[i] - times[index]) > step) continue;
      if (values[i] !== undefined && values[i] !== null) return i;
    }
    const beyond = (i) => i < 0 || i >= times.length || Math.abs(times[i] - times[index]) > step;
    if (beyond(index - far) && beyond(index + far)) return -1;
  }
  return -1;
}
