// SPDX-License-Identifier: Apache-2.0
// The values of a moment beside the pointer. What it says is also in the legend, and for the keyboard
// in the crosshair's text.

import {el, show} from '../dom.js';

const GAP = 14;

// {node, say(x, {title, rows: [{number, name, value}], notes: [text]}), hide()}; `x` within its
// parent.
export function tooltip() {
  const node = el('div', {class: 'tip', 'aria-hidden': 'true', hidden: true});
  return {
    node,
    say(x, {title, rows, notes}) {
      show(
          node, el('b', {}, title),
          rows.map(
              ({number, name, value, fills}) => el(
                  'div', {class: 'row'},
                  el('span', {class: fills ? `key area-${fills}` : `key line-${number + 1}`}),
                  el('span', {class: 'name'}, name), el('span', {class: 'value'}, value))),
          notes.map((note) => el('div', {class: 'event'}, note)));
      node.hidden = false;
      const width = node.offsetWidth;
      const all = node.parentElement.clientWidth;
      const left = x + GAP + width > all ? Math.max(0, x - GAP - width) : x + GAP;
      node.style.setProperty('left', `${Math.min(left, Math.max(0, all - width))}px`);
    },
    hide() {
      node.hidden = true;
    },
  };
}
