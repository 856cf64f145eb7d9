// SPDX-License-Identifier: Apache-2.0
// A small bar beside a number with the same value.

import {el} from './dom.js';

export function meter(share, level = '') {
  if (typeof share !== 'number' || !Number.isFinite(share)) return null;
  const width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return el(
    'span',
    {class: `meter ${level}`.trim(), 'aria-hidden': 'true'},
    el('span', {style: {width}}),
  );
}
