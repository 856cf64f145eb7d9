// SPDX-License-Identifier: Apache-2.0
// Restarts and events on the time axis of a chart.

import {colours} from './colours.js';

const WORST = ['critical', 'error', 'warning', 'info'];
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
    if (WORST.indexOf(event.severity) < WORST.indexOf(of.severity)) of.severity = event.severity;
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

// `of()` returns {holes, boots, events} of the current drawing.
export function marks(of) {
  const inside = (draw) => (u) => {
    u.ctx.save();
    draw(u);
    u.ctx.restore();
  };
  return {
    hooks: {
      drawClear: [inside((u) => nothing(u, of().holes))],
      draw: [inside((u) => {
        restarts(u, of().boots);
        events(u, of().events);
      })],
    },
  };
}
