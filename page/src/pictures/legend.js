// SPDX-License-Identifier: Apache-2.0
// The lines of a chart by name, with their style and value.

import {el, svg} from '../dom.js';

// As a canvas draws them; the first is solid.
export const DASHES =
    [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [12, 4], [1, 2], [7, 2, 1, 2, 1, 2]];

function sample(number, band) {
  return svg(
      'svg', {
        class: `sample line-${number + 1}`,
        viewBox: '0 0 34 12',
        width: 34,
        height: 12,
        'aria-hidden': 'true'
      },
      band ? svg('rect', {class: 'band', x: 0, y: 2, width: 34, height: 8}) : null,
      svg('line',
          {x1: 0, x2: 34, y1: 6, y2: 6, 'stroke-dasharray': DASHES[number].join(' ') || null}));
}

const area = (number) => el('span', {class: `key area-${number}`, 'aria-hidden': 'true'});

// lines: [{name, band, fills}]. Gives {node, when (a node with their time), tell(when, values)}: values are texts, one for each
// line, and `when` their time.
export function legend(lines) {
  const when = el('p', {class: 'when', 'aria-hidden': 'true'});
  const values = lines.map(() => el('span', {class: 'value'}));
  const node =
      el('ul', {class: 'legend'},
         lines.map(
             ({name, band, fills}, i) =>
                 el('li', {}, fills ? area(fills) : sample(i, band), el('span', {class: 'name'}, name),
                    ' ', values[i])));
  return {
    node,
    when,
    tell(time, texts) {
      const begin = `${time.slice(0, 1).toUpperCase()}${time.slice(1)}`;
      if (when.textContent !== begin) when.textContent = begin;
      texts.forEach((text, i) => {
        if (values[i].textContent !== text) values[i].textContent = text;
      });
    },
  };
}
