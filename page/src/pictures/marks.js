// SPDX-License-Identifier: Apache-2.0
// Restarts, events, alerts and thresholds on the time axis of a chart.

import {weightOf} from '../level.js';

import {colours, faint} from './colours.js';

const WORST = ['critical', 'error', 'warning', 'info'];
const FONT = 11;
const LANE = 4;  // the height of an alert's bar
const LANES = 3;
const BIN = 7;  // what is closer than so many pixels is one mark

// Events with their time, the worst and the number for each bin of pixels: [{x, severity, events}].
export function binned(events, toX, width) {
  const bins = new Map();
  for (const event of events) {
    if (!Number.isFinite(event.time)) continue;
    const x = toX(event.time);
    if (!(x >= 0 && x <= width)) continue;
    const bin = Math.floor(x / BIN);
    if (!bins.has(bin)) bins.set(bin, {x: 0, severity: 'info', events: []});
    const of = bins.get(bin);
    of.x = of.events.length === 0 ? x : of.x;
    of.events.push(event);
    const severity = weightOf(event);
    if (WORST.indexOf(severity) < WORST.indexOf(of.severity)) of.severity = severity;
  }
  return [...bins.values()];
}

// Shapes as well as colours: a triangle is worse than a square, a square worse than a dot.
export function shape(path, severity, x, y, size) {
  if (severity === 'critical' || severity === 'error') {
    path.moveTo(x, y - size);
    path.lineTo(x + size, y + size);
    path.lineTo(x - size, y + size);
    path.closePath();
  } else if (severity === 'warning') {
    path.rect(x - size * 0.8, y - size * 0.8, size * 1.6, size * 1.6);
  } else {
    path.moveTo(x + size * 0.7, y);
    path.arc(x, y, size * 0.7, 0, 2 * Math.PI);
  }
}

// Shades the times for which no line has a point: nothing was recorded then.
function nothing(u, holes) {
  const {ctx, bbox} = u;
  ctx.fillStyle = colours().nothing;
  for (const [from, to] of holes) {
    const left = Math.max(bbox.left, u.valToPos(from, 'x', true));
    const right = Math.min(bbox.left + bbox.width, u.valToPos(to, 'x', true));
    if (right > left) ctx.fillRect(left, bbox.top, right - left, bbox.height);
  }
}

function restarts(u, boots) {
  const {ctx, bbox} = u;
  const size = devicePixelRatio;
  ctx.strokeStyle = colours().restart;
  ctx.lineWidth = size;
  ctx.setLineDash([4 * size, 3 * size]);
  for (const {time} of boots) {
    const x = Math.round(u.valToPos(time, 'x', true)) + 0.5;
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.setLineDash([]);
}

// Over the whole height, faintly, and as bars along the top edge, each below those it overlaps.
function alerts(u, bands) {
  const {ctx, bbox} = u;
  const size = devicePixelRatio;
  const ends = Array(LANES).fill(-Infinity);
  let washed = bbox.left;
  for (const {from, to, severity} of bands) {
    const left = Math.max(bbox.left, u.valToPos(from, 'x', true));
    const right = Math.min(bbox.left + bbox.width, u.valToPos(to, 'x', true));
    const width = Math.max(right - left, 2 * size);
    const colour = colours().severity[severity] ?? colours().quiet;
    const free = ends.findIndex((end) => end <= left);
    const lane = free < 0 ? LANES - 1 : free;
    ends[lane] = left + width;
    ctx.fillStyle = faint(colour, 0.08);
    if (left + width > washed)
      ctx.fillRect(
          Math.max(left, washed), bbox.top, left + width - Math.max(left, washed), bbox.height);
    washed = Math.max(washed, left + width);
    ctx.fillStyle = colour;
    ctx.fillRect(left, bbox.top + lane * (LANE + 1) * size, width, LANE * size);
  }
}

// Dashed lines with their names, which avoid each other.
function limits(u, all) {
  const {ctx, bbox} = u;
  const size = devicePixelRatio;
  ctx.font = `${FONT * size}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  ctx.lineWidth = 1.2 * size;
  const taken = [];
  const yOf = ({value}) => Math.round(u.valToPos(value, 'y', true));
  const lines = all.map(yOf);
  for (const limit of all) {
    const {text, level} = limit;
    const y = yOf(limit);
    if (!(y >= bbox.top && y <= bbox.top + bbox.height)) continue;
    const colour = colours().severity[level] ?? colours().quiet;
    ctx.strokeStyle = colour;
    ctx.setLineDash([6 * size, 4 * size]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.setLineDash([]);
    const width = ctx.measureText(text).width;
    const below = y + FONT * size + 3 * size;
    const above = y - 4 * size;
    const isFree = ([x, at]) => at - FONT * size >= bbox.top && at <= bbox.top + bbox.height &&
        !lines.some((line) => line > at - FONT * size && line < at) &&
        !taken.some((other) => Math.abs(other.at - at) < FONT * size && x < other.to &&
            x + width > other.from);
    const right = bbox.left + bbox.width - width - 4 * size;
    const left = bbox.left + 4 * size;
    const place = [[right, above], [right, below], [left, above], [left, below]].find(isFree);
    if (!place) continue;
    const [x, at] = place;
    taken.push({from: x, to: x + width, at});
    ctx.lineWidth = 3 * size;
    ctx.strokeStyle = faint(colours().paper, 0.85);
    ctx.lineJoin = 'round';
    ctx.strokeText(text, x, at);
    ctx.fillStyle = colour;
    ctx.fillText(text, x, at);
    ctx.lineWidth = 1.2 * size;
  }
}

function events(u, happened) {
  const {ctx, bbox} = u;
  const size = 3.2 * devicePixelRatio;
  const toX = (time) => u.valToPos(time, 'x', true) - bbox.left;
  for (const {x, severity} of binned(
           happened, (time) => toX(time) / devicePixelRatio, bbox.width / devicePixelRatio)) {
    const path = new Path2D();
    shape(
        path, severity, bbox.left + x * devicePixelRatio, bbox.top + bbox.height - size - 1, size);
    ctx.fillStyle = colours().severity[severity] ?? colours().quiet;
    ctx.strokeStyle = colours().paper;
    ctx.lineWidth = devicePixelRatio;
    ctx.stroke(path);
    ctx.fill(path);
  }
}

// `of()` returns {holes, boots, events, bands, limits} of the current drawing.
export function marks(of) {
  const inside = (draw) => (u) => {
    u.ctx.save();
    draw(u);
    u.ctx.restore();
  };
  return {
    hooks: {
      drawClear: [inside((u) => {
        nothing(u, of().holes);
        alerts(u, of().bands);
      })],
      draw: [inside((u) => {
        restarts(u, of().boots);
        limits(u, of().limits);
        events(u, of().events);
      })],
    },
  };
}
