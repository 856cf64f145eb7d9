// SPDX-License-Identifier: Apache-2.0
// Events over time: a lane for each kind of source, a mark for each event.

import {el, show, svg} from '../dom.js';

import {weightOf} from '../level.js';

import {binned} from './marks.js';
import {fullTime, tickTexts} from './time_axis.js';

export const LANES =
    [['alert', 'alerts'], ['kernel', 'kernel'], ['mark', 'notes'], ['daemon', 'jetmemd']];
const LEFT = 64;
const LANE = 24;
const BOTTOM = 20;

function mark(severity, x, y, onclick) {
  const weight = ['info', 'warning', 'error', 'critical'].includes(severity) ? severity : 'info';
  if (weight === 'critical' || weight === 'error') {
    return svg('path', {class: weight, onclick, d: `M${x} ${y - 6}L${x + 6} ${y + 5}L${x - 6} ${y + 5}Z`});
  }
  if (weight === 'warning')
    return svg('rect', {class: weight, onclick, x: x - 4.5, y: y - 4.5, width: 9, height: 9});
  return svg('circle', {class: weight, onclick, cx: x, cy: y, r: 4});
}

function splits(from, to, most) {
  const increment =
      [
        60, 120, 300, 600, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 432000, 864000
      ].find((each) => (to - from) / each <= most) ??
      1728000;
  const zone = new Date(from * 1000).getTimezoneOffset() * 60;
  const out = [];
  for (let at = Math.ceil((from - zone) / increment) * increment + zone; at <= to; at += increment)
    out.push(at);
  return {increment, all: out};
}

// Returns {node, fill({from, to, events, more})}. `more`: only the newest events are included.
// jump(event): the reader wants to see the charts of that time; the list has the same for the
// keyboard.
export function strip(jump) {
  const place = el('div', {class: 'strip-place'});
  const note = el('p', {class: 'notes'});
  let shown = null;

  function draw() {
    const width = Math.round(place.clientWidth);
    if (!shown || width === 0) return;
    const {from, to, events, more} = shown;
    const height = LANES.length * LANE + BOTTOM;
    const inner = width - LEFT - 8;
    const toX = (time) => (time - from) / (to - from) * inner;
    const oldest = events.filter(({time}) => Number.isFinite(time)).at(-1)?.time;
    const cut = more && oldest > from ? toX(oldest) : 0;
    const {increment, all} = splits(from, to, inner / 70);
    const texts = tickTexts(all, increment);
    show(
        note,
        cut > 0 ? `Shaded: events before ${
                      fullTime(oldest, 60)} are too many to be drawn; the list has them.` :
                  '');
    show(
        place,
        svg('svg', {
          class: 'strip',
          viewBox: `0 0 ${width} ${height}`,
          role: 'img',
          'aria-label': describe(cut, oldest)
        },
            cut > 0 ? svg('rect',
                          {class: 'cut', x: LEFT, y: 0, width: cut, height: LANES.length * LANE}) :
                      null,
            LANES.map(
                ([what, name], i) =>
                    [svg('text', {x: 0, y: (i + 0.5) * LANE + 4}, name),
                     svg('line', {
                       class: 'lane',
                       x1: LEFT,
                       x2: width - 8,
                       y1: (i + 0.5) * LANE,
                       y2: (i + 0.5) * LANE
                     }),
                     binned(events.filter((event) => event.category === what), toX, inner)
                         .map(
                             ({x, severity, events: [first]}) => mark(
                                 severity, Math.round(LEFT + x), (i + 0.5) * LANE,
                                 () => jump(first))),
    ]),
            all.map(
                (at, i) =>
                    svg('text', {
                      x: LEFT + toX(at),
                      y: height - 4,
                      'text-anchor': toX(at) > inner - 20 ? 'end' : 'middle'
                    },
                        texts[i]))));
  }

  function describe(cut, oldest) {
    const {events} = shown;
    const each = LANES.map(
        ([what, name]) => `${name}: ${events.filter((event) => event.category === what).length}`);
    const bad = events.filter((event) => ['critical', 'error'].includes(weightOf(event))).length;
    return `Events over time. ${each.join(', ')}; ${bad} of them errors.` +
        (cut > 0 ? ` Only since ${fullTime(oldest, 60)}: older ones are too many.` : '') +
        ' The list below has them.';
  }

  new ResizeObserver(draw).observe(place);
  return {
    node: el('div', {}, place, note),
    fill(next) {
      shown = next;
      draw();
    },
  };
}
