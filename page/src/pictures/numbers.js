// SPDX-License-Identifier: Apache-2.0
// A chart's numbers as a table: created when the reader opens it.

import {el} from '../dom.js';

const MOST = 1000;

// words: a node with a summary. of(): {head: [text], rows: [[text]]}, newest row first. Returns
// {node, renew()}.
export function numbers(caption, words, of) {
  const place = el('div', {class: 'table small', tabindex: '0', role: 'region', 'aria-label': caption});
  const node =
      el('details', {class: 'numbers', ontoggle: () => renew()}, el('summary', {}, 'Show as table'),
         words, place);
  function renew() {
    if (!node.open) return place.replaceChildren();
    const {head, rows} = of();
    place.replaceChildren(
        el('table', {},
           el('caption', {}, caption,
              rows.length > MOST ? ` (the newest ${MOST} of ${rows.length} rows)` : ''),
           el('thead', {}, el('tr', {}, head.map((text) => el('th', {scope: 'col'}, text)))),
           el('tbody', {},
              rows.slice(0, MOST).map(
                  ([first, ...rest]) =>
                      el('tr', {}, el('th', {scope: 'row'}, first),
                         rest.map((text) => el('td', {}, text)))))));
  }
  return {node, renew};
}
