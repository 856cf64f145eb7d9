// The same as a picture shows, as a table: made when somebody opens it.

import {el} from '../dom.js';

const MOST = 1000;

// words: a node that says it in words. of(): {head: [text], rows: [[text]]}, newest row first.
// Gives {node, renew()}.
export function numbers(caption, words, of) {
  const place = el('div', {class: 'table', tabindex: '0', role: 'region', 'aria-label': caption});
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
