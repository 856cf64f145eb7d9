// SPDX-License-Identifier: Apache-2.0
// Counters as increases. A counter resets with the device or with jetmemd; its value then is the
// growth since the reset, never a negative number.
//
// A point merged from several may hide a reset, and does not show whether its minimum or its
// maximum came first. Then only the certain growth counts.

// points of one counter -> [{time, from, boot, by}]: it grew by `by`, at least, between `from` and
// `time`. Of the first point of all only the growth within it is known, unless the counter's
// `begin` (when it is known to have been looked at before in that boot, and was not there) says
// that it began at 0.
export function increases(points, begin = new Map()) {
  const good = points.filter(({time, min, max}) => [time, min, max].every(Number.isFinite));
  return good.map((point, i) => {
    const before = good[i - 1];
    const sameBoot = before !== undefined && before.boot === point.boot;
    let by = point.max;
    if (sameBoot) by = since(before, point);
    else if (before === undefined && !(begin.get(point.boot) < point.time))
      by = within(point, good[i + 1]);
    return {time: point.time, from: sameBoot ? before.time : point.time, boot: point.boot, by};
  });
}

function since(before, point) {
  // Smaller than before: it was reset and has counted from 0.
  if (point.max < before.max) return point.max;
  // It never fell; or it rose before or after a reset: at least this much.
  return point.max - before.max;
}

// Only the next point shows whether it was reset within or right after the first one.
function within(point, next) {
  if (next === undefined || next.boot !== point.boot || next.min < point.max) return 0;
  return point.max - point.min;
}
