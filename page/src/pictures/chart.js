// SPDX-License-Identifier: Apache-2.0
// Lines or stacked areas over time, with uPlot. The axis is exactly the range requested; where
// several values were merged, a band from minimum to maximum is behind the average.

import uPlot from 'uplot';

import {colours, faint, onColours} from './colours.js';
import {DASHES} from './legend.js';
import {marks} from './marks.js';
import {tickTexts} from './time_axis.js';

const FONT = '12px system-ui, sans-serif';
// A shorter drag is a click.
const LEAST_DRAG = 6;

function heightFor(width) { return width < 500 ? 165 : 210; }

function axes(unit) {
  const {quiet, grid} = colours();
  const lines = {stroke: grid, width: 1};
  const common = {stroke: quiet, font: FONT, grid: lines, ticks: {...lines, size: 4}};
  return [
    {
      ...common,
      size: 30,
      space: 64,
      values: (u, splits, axis, space, increment) => tickTexts(splits, increment)
    },
    {
      ...common,
      size: 70,
      space: 34,
      incrs: unit.increments,
      values: (u, splits) => splits.map((value) => value === null ? '' : unit.axis(value)),
    },
  ];
}

function drawn(lines, stepped) {
  const {lines: strokes, areas} = colours();
  const paths = stepped ? uPlot.paths.stepped({align: 1}) : undefined;
  const edge = {stroke: 'transparent', width: 0, points: {show: false}, paths};
  return lines.flatMap(({fills, column}, i) => {
    if (fills) {
      const colour = areas[fills - 1];
      return [{stroke: colour, width: 0.5, spanGaps: false, points: {show: false},
               fill: i === 0 ? colour : undefined}];
    }
    return [
      edge,
      edge,
      {
        stroke: strokes[i],
        width: 1.8,
        dash: DASHES[i],
        paths,
        spanGaps: false,
        // Only isolated points.
        points: {show: true, size: 5, fill: strokes[i], filter: () => column().lone},
      },
    ];
  });
}

// Between each area and the one below it; between the edges of each line.
function bandsOf(lines) {
  const {lines: strokes, areas} = colours();
  let at = 1;
  const out = [];
  lines.forEach(({fills}, i) => {
    if (!fills) {
      out.push({series: [at, at + 1], fill: faint(strokes[i], 0.22)});
      at += 3;
      return;
    }
    if (i > 0) out.push({series: [at, at - 1], fill: areas[fills - 1]});
    at += 1;
  });
  return out;
}

// chart(place, of): of: {unit, stepped, lines: [{name, fills}], hover(index | null, x),
// zoom(from, to), pan(seconds), leave()}. Lines that fill come first, as areas on top of each other.
// fill(picture) draws {from, to, times, columns, step, boots, events, holes, bands, limits}. The
// chart goes with its place.
export function chart(place, of) {
  let picture = null;
  let plot = null;

  function data() {
    const sums = picture.times.map(() => 0);
    return [
      picture.times,
      ...picture.columns.flatMap(({average, min, max, merged}, i) => {
        if (!of.lines[i].fills)
          return merged ? [max, min, average] : [average, average, average];
        return [average.map((value, at) => {
          if (!Number.isFinite(value)) return value;
          sums[at] += value;
          return sums[at];
        })];
      })
    ];
  }

  // Limits that are near what is drawn are within the picture.
  function scaleOf(u, min, max) {
    const [low, high] = of.unit.range(u, min, max);
    const near = picture.limits.map(({value}) => value).filter((value) => value <= 1.6 * high);
    return [low, Math.max(high, ...near.map((value) => value * 1.04))];
  }

  function dragged(u) {
    const {left, width} = u.select;
    u.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
    if (width < LEAST_DRAG) return;
    of.zoom(u.posToVal(left, 'x'), u.posToVal(left + width, 'x'));
  }

  function make() {
    plot?.destroy();
    const width = Math.max(200, place.clientWidth);
    plot =
        new uPlot(
            {
              width,
              height: heightFor(width),
              legend: {show: false},
              padding: [8, 20, 0, 0],
              cursor: {
                y: false,
                drag: {x: true, y: false, setScale: false},
                points: {show: false},
                bind: {dblclick: () => null},
              },
              scales: {
                x: {time: true, range: () => [picture.from, picture.to]},
                y: {range: scaleOf},
              },
              axes: axes(of.unit),
              series: [
                {},
                ...drawn(
                    of.lines.map((each, i) => ({...each, column: () => picture.columns[i]})),
                    of.stepped)
              ],
              bands: bandsOf(of.lines),
              plugins: [marks(() => picture)],
              hooks: {
                setCursor: [(u) => of.hover(u.cursor.idx ?? null, u.cursor.left + u.over.offsetLeft)],
                setSelect: [dragged],
              },
            },
            data(), place);
    gestures(plot, of, () => picture);
  }

  const sizes = new ResizeObserver(() => {
    const width = place.clientWidth;
    if (plot && width > 0 && width !== plot.width) plot.setSize({width, height: heightFor(width)});
  });
  sizes.observe(place);
  const deaf = onColours(() => plot && place.isConnected && make());

  return {
    fill(next) {
      picture = next;
      if (plot)
        plot.setData(data());
      else
        make();
    },
    // The line of the crosshair at a time; null: none. Returns where it is, from the left.
    point(time) {
      if (!plot) return 0;
      const left = time === null ? -10 : plot.valToPos(time, 'x');
      plot.setCursor({left, top: time === null ? -10 : 10}, false);
      return left + plot.over.offsetLeft;
    },
    end() {
      sizes.disconnect();
      deaf();
      plot?.destroy();
      plot = null;
    },
  };
}

// Beside dragging to zoom: a sideways wheel pans; on a touch screen a finger that moves sideways
// selects, one that moves up or down scrolls the page.
function gestures(plot, of, pictureOf) {
  const {over} = plot;
  const secondsOf = (pixels) => {
    const {from, to} = pictureOf();
    return pixels * (to - from) / over.clientWidth;
  };
  over.addEventListener('wheel', (event) => {
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (Math.abs(sideways) <= Math.abs(event.shiftKey ? 0 : event.deltaY)) return;
    event.preventDefault();
    of.pan(secondsOf(sideways));
  }, {passive: false});
  let start = null;
  const xOf = (event) => event.touches[0].clientX - over.getBoundingClientRect().left;
  over.addEventListener('touchstart', (event) => {
    start = event.touches.length === 1 ? xOf(event) : null;
  }, {passive: true});
  over.addEventListener('touchmove', (event) => {
    if (start === null || event.touches.length !== 1) return;
    const x = xOf(event);
    plot.setCursor({left: x, top: 10});
    if (Math.abs(x - start) < LEAST_DRAG) return;
    plot.setSelect(
        {left: Math.min(x, start), top: 0, width: Math.abs(x - start), height: over.clientHeight},
        false);
  }, {passive: true});
  over.addEventListener('touchend', () => {
    if (start !== null && plot.select.width >= LEAST_DRAG) plot.setSelect(plot.select);
    start = null;
    of.leave();
  });
}
