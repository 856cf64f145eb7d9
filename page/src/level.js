// SPDX-License-Identifier: Apache-2.0
// A severity as shape, word and colour, each sufficient alone.

import {el, svg} from './dom.js';
import {words} from './text.js';

const SHAPES = {
  ok: 'M3 8.5 6.5 12 13 4.5',
  warning: 'M8 2 15 14H1ZM8 6.5v3.5M8 11.8v.4',
  critical: 'M5 1h6l4 4v6l-4 4H5l-4-4V5ZM8 4.5v4.5M8 11v.5',
  info: 'M8 1a7 7 0 1 0 .01 0ZM8 7.5v4M8 4.5v.5',
  unknown: 'M5.5 5.5a2.5 2.5 0 1 1 3.6 2.3C8.3 8.300 8 8.800 8 9.700M8 12v.5',
};

const LEVELS = {
  ok: 'ok',
  fine: 'ok',
  info: 'info',
  warning: 'warning',
  error: 'critical',
  critical: 'critical',
};

// An unknown level is never shown as ok.
export function levelOf(name) {
  return LEVELS[name] ?? 'unknown';
}

// The severity of an event as it is shown. An alert is as bad as its severity while it fires: that
// it waits, or has ended, is not.
export function weightOf({category, kind, severity}) {
  if (category === 'alert' && kind !== 'firing') return 'info';
  return ['warning', 'error', 'critical'].includes(severity) ? severity : 'info';
}

export function sign(name) {
  return svg(
    'svg',
    {class: `sign ${levelOf(name)}`, viewBox: '0 0 16 16', 'aria-hidden': 'true'},
    svg('path', {d: SHAPES[levelOf(name)]}),
  );
}

export function badge(name, text = words(name)) {
  return el('span', {class: `badge ${levelOf(name)}`}, sign(name), text);
}
