// SPDX-License-Identifier: Apache-2.0
// How a value went, without axes: beside the value, which says how much it is now.

import {svg} from '../dom.js';
import {PATIENCE, stepsOf} from '../pictures/align.js';

const WIDTH = 120;
const HEIGHT = 28;

// The stretches without a gap, each a list of points.
function stretches(points, step) {
  const stepOf = stepsOf([{points}], step);
  const out = [];
  points.forEach((point, i) => {
    const before = points[i - 1];
    const patience = before
      ? PATIENCE * Math.max(stepOf(point.resolution), stepOf(before.resolution))
      : -1;
    const isJoined = before && before.boot === point.boot && point.time - before.time <= patience &&
      point.time >= before.time;
    if (isJoined) out.at(-1).push(point);
    else out.push([point]);
  });
  return out;
}

// {node, fill(series, range, now, fromZero), clear()}
export function sparkline() {
  const line = svg('path', {class: 'line'});
  const area = svg('path', {class: 'fill'});
  const node = svg(
    'svg',
    {
      class: 'sparkline',
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    },
    area,
    line,
  );
  const set = (one, other) => {
    line.setAttribute('d', one);
    area.setAttribute('d', other);
  };
  return {
    node,
    clear: () => set('', ''),
    fill(found, range, now, fromZero) {
      const points = (found?.points ?? []).filter(({average}) => Number.isFinite(average));
      if (points.length === 0) return set('', '');
      const values = points.map(({average}) => average);
      const low = fromZero ? Math.min(0, ...values) : Math.min(...values) - 1;
      const high = Math.max(...values, low + (fromZero ? 1e-9 : 2));
      const to = range.to ?? Math.max(found.points.at(-1).time, now);
      const x = (time) => ((time - to + range.seconds) / range.seconds) * WIDTH;
      const y = (value) => 2 + (1 - (value - low) / (high - low)) * (HEIGHT - 3);
      const at = ({time, average}) => `${x(time).toFixed(1)} ${y(average).toFixed(1)}`;
      const all = stretches(points, range.step);
      set(
        all.map((each) => `M${each.map(at).join('L')}${each.length === 1 ? 'h1' : ''}`).join(''),
        all
          .map(
            (each) =>
              `M${x(each[0].time).toFixed(1)} ${HEIGHT}L${each.map(at).join('L')}` +
              `L${x(each.at(-1).time).toFixed(1)} ${HEIGHT}Z`,
          )
          .join(''),
      );
      return undefined;
    },
  };
}
