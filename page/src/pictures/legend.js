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

// lines: [{name, band}]. Gives {node, tell(values)}: values are texts, one for each line.
export function legend(lines) {
  const values = lines.map(() => el('span', {class: 'value'}));
  const node =
      el('ul', {class: 'legend'},
         lines.map(
             ({name, band}, i) =>
                 el('li', {}, sample(i, band), el('span', {class: 'name'}, name), ' ', values[i])));
  return {
    node,
    tell(texts) {
      texts.forEach((text, i) => {
        if (values[i].textContent !== text) values[i].textContent = text;
      });
    },
  };
}
