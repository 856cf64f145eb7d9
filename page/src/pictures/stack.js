// SPDX-License-Identifier: Apache-2.0
// Parts of a whole on one time axis, to be drawn on top of each other. A stack needs all of its
// parts: where one is missing there is none.

import {PATIENCE, stepsOf} from './align.js';

// parts: [{points}]; the first has the moments. Each other part has at each of them its last value,
// for as long as it stands (a few of its steps, within a boot). `make(values)` -> the layers, from
// the bottom, and null where there is none. Returns [points] of each layer.
export function layers(parts, step, make) {
  const stepOf = stepsOf(parts, step);
  const at = parts.map(() => 0);
  const out = [];
  for (const point of parts[0].points) {
    const values = parts.map(({points}, i) => {
      while (at[i] + 1 < points.length && points[at[i] + 1].time <= point.time) ++at[i];
      const known = nearest(points, at[i], point);
      if (!known) return null;
      const far = Math.abs(known.time - point.time);
      const patience = PATIENCE * Math.max(stepOf(known.resolution), stepOf(point.resolution));
      return known.boot === point.boot && far <= patience ? known : null;
    });
    if (values.includes(null)) continue;
    make(values.map(({average}) => average)).forEach((value, i) => {
      (out[i] ??= []).push({...point, count: 1, min: value, average: value, max: value});
    });
  }
  return out;
}

// The last point that is not after this one; or the next, of a part that began a moment later.
function nearest(points, i, {time}) {
  if (points[i] === undefined) return null;
  return points[i].time <= time ? points[i] : points[0];
}
