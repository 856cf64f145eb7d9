// SPDX-License-Identifier: Apache-2.0
// Cells on a canvas: rows from top to bottom, time from left to right.

import {colours, faint, onColours} from '../colours.js';
import {binned, shape} from '../marks.js';
import {scale} from './heat_colours.js';
import {tickTexts} from '../time_axis.js';

const LEAST_LEFT = 72;
const MOST_LEFT = 132;
const BOTTOM = 22;
const TOP = 8;  // with the bars of alerts
const BAR = 4;
const LEAST_DRAG = 6;
const RIGHT = 10;
const ROW = 18;
const FONT = '12px system-ui, sans-serif';
const INCREMENTS = [
  60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 2 * 86400, 5 * 86400,
  10 * 86400, 20 * 86400
];

// Whole minutes, hours or days in the reader's time zone.
function ticks(from, to, width) {
  const increment =
      INCREMENTS.find((each) => (to - from) / each <= width / 64) ?? INCREMENTS.at(-1);
  const out = [];
  const day = new Date(from * 1000);
  day.setHours(0, 0, 0, 0);
  if (increment >= 86400) {
    for (let i = 0; day.getTime() / 1000 <= to; ++i) {
      if (day.getTime() / 1000 >= from) out.push(day.getTime() / 1000);
      day.setDate(day.getDate() + increment / 86400);
    }
    return {increment, splits: out};
  }
  const base = day.getTime() / 1000;
  for (let at = base + Math.ceil((from - base) / increment) * increment; at <= to; at += increment)
    out.push(at);
  return {increment, splits: out};
}

// canvas: of the page. of: {hover(column, row) or hover(-1, -1), zoom(from, to)}. fill(picture):
// {pieces, rows: [{name}], values: [row][column], low, high, zeroIsBad, line: [column] -> row or
// null, boots: [{time}], bands: [{from, to, severity}], events}.
export function heatMap(canvas, of) {
  let picture = null;
  let at = [-1, -1];
  let pointed = -1;  // the column that another chart points at
  let drag = null;   // {from, to}, in pixels
  let left = LEAST_LEFT;
  const place = canvas.parentElement;

  function sizes() {
    const width = Math.max(200, place.clientWidth);
    const {rows, pieces} = picture;
    return {
      width,
      height: TOP + rows.length * ROW + BOTTOM,
      cell: (width - left - RIGHT) / pieces.count
    };
  }

  // What the names of the rows take.
  function room() {
    const context = canvas.getContext('2d');
    context.font = FONT;
    const widest = Math.max(...picture.rows.map(({name}) => context.measureText(name).width));
    return Math.min(MOST_LEFT, Math.max(LEAST_LEFT, Math.ceil(widest) + 10));
  }

  function draw() {
    if (!picture || place.clientWidth === 0) return;
    left = room();
    const {width, height, cell} = sizes();
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    canvas.style.setProperty('width', `${width}px`);
    canvas.style.setProperty('height', `${height}px`);
    const context = canvas.getContext('2d');
    context.scale(devicePixelRatio, devicePixelRatio);
    cells(context, cell);
    line(context, cell);
    restarts(context, width);
    happened(context, width);
    texts(context, width, height);
    chosen(context, cell);
    if (!drag) return;
    context.fillStyle = faint(colours().ink, 0.15);
    context.fillRect(
        Math.min(drag.from, drag.to), TOP, Math.abs(drag.to - drag.from), picture.rows.length * ROW);
  }

  // Alerts as bars above, events as marks along the lower edge.
  function happened(context, width) {
    const {bands, events, pieces, rows} = picture;
    const within = (time) => xOf(Math.max(pieces.from, Math.min(pieces.to, time)), width);
    for (const {from, to, severity} of bands) {
      context.fillStyle = colours().severity[severity] ?? colours().quiet;
      context.fillRect(within(from), 1, Math.max(2, within(to) - within(from)), BAR);
    }
    const inner = width - left - RIGHT;
    const y = TOP + rows.length * ROW - 5;
    for (const {x, severity} of binned(events, (time) => xOf(time, width) - left, inner)) {
      const path = new Path2D();
      shape(path, severity, left + x, y, 3.2);
      context.fillStyle = colours().severity[severity];
      context.strokeStyle = colours().paper;
      context.lineWidth = 2;
      context.stroke(path);
      context.fill(path);
    }
  }

  function cells(context, cell) {
    const {rows, values, pieces, low, high, zeroIsBad} = picture;
    const colour = scale(low, high);
    const {nothing, severity, grid} = colours();
    for (let row = 0; row < rows.length; ++row) {
      const y = TOP + row * ROW;
      for (let column = 0; column < pieces.count; ++column) {
        const value = values[row][column];
        // At whole pixels: no seams between cells.
        const x = Math.round(left + column * cell);
        const wide = Math.round(left + (column + 1) * cell) - x;
        if (value === null)
          context.fillStyle = nothing;
        else if (value > 0)
          context.fillStyle = colour(value);
        else if (zeroIsBad) {
          // Zero is not a shade of the scale: a stroke through the cell.
          context.fillStyle = severity.critical;
          context.fillRect(x, y + ROW / 2 - 1, wide, 2);
          continue;
        } else
          continue;
        context.fillRect(x, y, wide, ROW - 1);
      }
      context.fillStyle = grid;
      context.fillRect(left, y + ROW - 1, cell * pieces.count, 0.5);
    }
  }

  // A stepped line at the top edge of a row in each column, white within black: visible on any
  // colour.
  function line(context, cell) {
    if (!picture.line) return;
    const path = new Path2D();
    let drawn = false;
    picture.line.forEach((row, column) => {
      if (row === null) {
        drawn = false;
        return;
      }
      const y = TOP + row * ROW;
      const x = left + column * cell;
      if (drawn)
        path.lineTo(x, y);
      else
        path.moveTo(x, y);
      path.lineTo(x + cell, y);
      drawn = true;
    });
    context.lineJoin = 'round';
    context.strokeStyle = '#000';
    context.lineWidth = 5;
    context.stroke(path);
    context.strokeStyle = '#fff';
    context.lineWidth = 2.5;
    context.stroke(path);
  }

  function xOf(time, width) {
    const {from, to} = picture.pieces;
    return left + (time - from) / (to - from) * (width - left - RIGHT);
  }

  function restarts(context, width) {
    context.strokeStyle = colours().ink;
    context.setLineDash([4, 3]);
    context.lineWidth = 1;
    for (const {time} of picture.boots) {
      if (time < picture.pieces.from) continue;
      context.beginPath();
      context.moveTo(xOf(time, width), TOP);
      context.lineTo(xOf(time, width), TOP + picture.rows.length * ROW);
      context.stroke();
    }
    context.setLineDash([]);
  }

  function texts(context, width, height) {
    const {rows, pieces} = picture;
    context.fillStyle = colours().quiet;
    context.font = FONT;
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    rows.forEach(
        ({name}, row) => context.fillText(name, left - 6, TOP + (row + 0.5) * ROW, left - 8));
    const {increment, splits} = ticks(pieces.from, pieces.to, width - left - RIGHT);
    context.textAlign = 'center';
    tickTexts(splits, increment).forEach((text, i) => {
      const x = xOf(splits[i], width);
      context.fillRect(x, height - BOTTOM, 1, 4);
      if (x < width - 18) context.fillText(text, x, height - 8);
    });
  }

  function chosen(context, cell) {
    const [column, row] = at;
    if (column < 0 && pointed >= 0) {
      context.fillStyle = colours().ink;
      context.fillRect(left + (pointed + 0.5) * cell, TOP, 1, picture.rows.length * ROW);
    }
    if (column < 0) return;
    context.strokeStyle = colours().ink;
    context.lineWidth = 2;
    context.strokeRect(
        left + column * cell - 1, TOP + row * ROW - 1, Math.max(cell, 3) + 2, ROW + 1);
  }

  function point(event) {
    if (!picture) return;
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - left) / sizes().cell);
    const row = Math.floor((event.clientY - box.top - TOP) / ROW);
    const inside =
        column >= 0 && column < picture.pieces.count && row >= 0 && row < picture.rows.length;
    go(inside ? column : -1, inside ? row : -1);
    of.hover(...at);
  }

  function go(column, row) {
    if (at[0] === column && at[1] === row) return;
    at = [column, row];
    draw();
  }

  const timeAt = (x) => {
    const {from, to} = picture.pieces;
    return from + (x - left) / (sizes().width - left - RIGHT) * (to - from);
  };
  const xIn = (event) => {
    const x = event.clientX - canvas.getBoundingClientRect().left;
    return Math.max(left, Math.min(sizes().width - RIGHT, x));
  };
  canvas.addEventListener('pointermove', (event) => {
    if (drag) {
      drag.to = xIn(event);
      draw();
    }
    point(event);
  });
  canvas.addEventListener('pointerdown', (event) => {
    point(event);
    if (!picture || event.button !== 0) return;
    drag = {from: xIn(event), to: xIn(event)};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointerup', () => {
    const {from, to} = drag ?? {from: 0, to: 0};
    drag = null;
    if (Math.abs(to - from) >= LEAST_DRAG)
      of.zoom(timeAt(Math.min(from, to)), timeAt(Math.max(from, to)));
    else
      draw();
  });
  // A finger that moves up or down scrolls the page.
  canvas.addEventListener('pointercancel', () => {
    drag = null;
  });
  canvas.addEventListener('pointerleave', () => {
    go(-1, -1);
    of.hover(-1, -1);
  });
  const observer = new ResizeObserver(draw);
  observer.observe(place);
  onColours(() => canvas.isConnected && draw());
  return {
    fill(next) {
      picture = next;
      if (at[0] >= next.pieces.count || at[1] >= next.rows.length) at = [-1, -1];
      draw();
    },
    go,
    // A column that another chart points at; -1: none.
    point(column) {
      if (pointed === column) return;
      pointed = column;
      draw();
    },
  };
}
