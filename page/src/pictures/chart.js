// SPDX-License-Identifier: Apache-2.0
// Lines over time, with uPlot. The axis is exactly the range requested; where several values were
// merged, a band from minimum to maximum is behind the average.

import uPlot from 'uplot';

import {colours, faint, onColours} from './colours.js';
import {DASHES} from './legend.js';
import {marks} from './marks.js';
import {tickTexts} from './time_axis.js';

const FONT = '12px system-ui, sans-serif';

function heightFor(width) { return width < 500 ? 180 : 210; }

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
  const {lines: strokes} = colours();
  const paths = stepped ? uPlot.paths.stepped({align: 1}) : undefined;
  const edge = {stroke: 'transparent', width: 0, points: {show: false}, paths};
  return lines.flatMap(
      ({column}, i) =>
          [edge,
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
  ]);
}

// chart(place, of): of: {unit, stepped, lines: [{name}], hover(index | null)}. fill(picture) draws
// {from, to, times, columns, step, boots, events}. The chart goes with its place.
export function chart(place, of) {
  let picture = null;
  let plot = null;

  function data() {
    return [
      picture.times,
      ...picture.columns.flatMap(
          ({average, min, max, merged}) =>
              merged ? [max, min, average] : [average, average, average])
    ];
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
                drag: {x: false, y: false, setScale: false},
                points: {show: false},
              },
              scales: {
                x: {time: true, range: () => [picture.from, picture.to]},
                y: {range: (u, min, max) => of.unit.range(u, min, max)},
              },
              axes: axes(of.unit),
              series: [
                {},
                ...drawn(
                    of.lines.map((each, i) => ({column: () => picture.columns[i]})), of.stepped)
              ],
              bands: of.lines.map((each, i) => ({
                                    series: [1 + 3 * i, 2 + 3 * i],
                                    fill: faint(colours().lines[i], 0.22),
                                  })),
              plugins: [marks(() => picture)],
              hooks: {setCursor: [(u) => of.hover(u.cursor.idx ?? null)]},
            },
            data(), place);
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
    // The line of the crosshair at a time; null: none.
    point(index) {
      if (!plot) return;
      const left = index === null ? -10 : plot.valToPos(picture.times[index], 'x');
      plot.setCursor({left, top: index === null ? -10 : 10}, false);
    },
    end() {
      sizes.disconnect();
      deaf();
      plot?.destroy();
      plot = null;
    },
  };
}
