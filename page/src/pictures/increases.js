// Counters as what they grew by. A counter begins anew with the device or with jetmemd: what it
// shows then is growth since that beginning, never a negative number.
//
// A point made of several may hide such a beginning, and does not say whether its least or its
// greatest came first. Then only the growth that is certain counts.

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
  // Smaller than before all through: it began anew, and counted from 0 since.
  if (point.max < before.max) return point.max;
  // It never fell; or it rose and then began anew, or the other way round: this much in any case.
  return point.max - before.max;
}

// That it did not begin anew within the first point, or right after, only the next one shows.
function within(point, next) {
  if (next === undefined || next.boot !== point.boot || next.min < point.max) return 0;
  return point.max - point.min;
}
