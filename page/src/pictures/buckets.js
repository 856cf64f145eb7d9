// SPDX-License-Identifier: Apache-2.0
// Time divided into equal pieces, for heat maps.

import {PATIENCE, stepsOf} from './align.js';

const MOST = 120;

// {from, to, width, step (of the query), count, at(time) -> number of the piece, or -1,
// begin(piece)}
export function buckets(range, end, step) {
  const width = Math.max(range.seconds / MOST, step, 10);
  const count = Math.max(1, Math.round(range.seconds / width));
  const from = end - range.seconds;
  return {
    from,
    to: end,
    step,
    count,
    width: range.seconds / count,
    at(time) {
      const i = Math.floor((time - from) / (range.seconds / count));
      return i >= 0 && i < count ? i : i === count && time <= end ? count - 1 : -1;
    },
    begin: (i) => from + i * (range.seconds / count),
  };
}

// The average of a series in each piece; null where it has no point.
export function averages(points, pieces) {
  const sums = Array.from({length: pieces.count}, () => [0, 0]);
  for (const {time, count, average} of points) {
    const i = pieces.at(time);
    if (i < 0 || !Number.isFinite(average)) continue;
    sums[i][0] += average * count;
    sums[i][1] += count;
  }
  return sums.map(([sum, count]) => (count > 0 ? sum / count : null));
}

export function least(points, pieces) {
  const out = Array(pieces.count).fill(null);
  for (const {time, min} of points) {
    const i = pieces.at(time);
    if (i >= 0 && Number.isFinite(min)) out[i] = out[i] === null ? min : Math.min(out[i], min);
  }
  return out;
}

// The end of each point's validity: the next point, or one step if that comes later or belongs to
// another boot. `stepOf` from stepsOf().
function ends(points, stepOf) {
  return points.map((point, i) => {
    const step = stepOf(point.resolution);
    const next = points[i + 1];
    const between = next && next.boot === point.boot ? next.time - point.time : -1;
    const patience = next ? PATIENCE * Math.max(step, stepOf(next.resolution)) : 0;
    return point.time + (between >= 0 && between <= patience ? between : step);
  });
}

// The pieces that each point covers, as calls take(piece of the point, piece).
export function reach(points, pieces, stepOf, take) {
  const until = ends(points, stepOf);
  points.forEach(({time}, k) => {
    const first = pieces.at(time);
    if (first < 0) return;
    take(first, first);
    for (let i = first + 1; i < pieces.count && pieces.begin(i) < until[k]; ++i) take(first, i);
  });
}

// Points of a coarse resolution are fewer than the pieces: each covers the pieces up to the next.
export function spread(values, points, pieces) {
  const out = [...values];
  reach(points, pieces, stepsOf([{points}], pieces.step), (first, i) => {
    if (values[i] === null) out[i] = values[first];
  });
  return out;
}
