// SPDX-License-Identifier: Apache-2.0
// A table that readers can sort by any column, with the mouse or the keyboard.

import {dash} from './absent.js';
import {el, update} from './dom.js';

// columns: {name, of, by, kind, head}: of(row) gives text or a node ('' is "not known", ' ' is
// "nothing to say"); by(row), where it may be sorted by, a number or text; kind is 'number' where
// it is one; head is true of the column that names the row. `first` is the column it is sorted by
// at first, the largest on top. Rows that have no value are last either way. Gives {node,
// fill(rows)}; without rows the node is hidden.
export function sortable(caption, columns, first, shape = '') {
  const place = el('div', {
    class: `table ${shape}`.trim(),
    tabindex: '0',
    role: 'group',
    'aria-label': caption,
  });
  const sorting = {column: first, down: true};
  let rows = [];

  const draw = () => {
    const [shown, left] = withValues(columns, rows);
    const title =
      left.length === 0
        ? caption
        : [caption, el('span', {class: 'note'}, ` (unknown here: ${left.join(', ')})`)];
    update(place, plainTable(title, shown, sorted(), heading, sorting));
  };

  function heading(column) {
    if (!column.by) return column.name;
    const is = sorting.column === column.name;
    return el(
      'button',
      {
        type: 'button',
        onclick: () => {
          sorting.down = is ? !sorting.down : column.kind === 'number';
          sorting.column = column.name;
          draw();
        },
      },
      column.name,
      el(
        'span',
        {'aria-hidden': 'true', class: 'arrow'},
        is ? (sorting.down ? '\u25bc' : '\u25b2') : '',
      ),
    );
  }

  function sorted() {
    const column = columns.find((each) => each.name === sorting.column);
    if (!column?.by) return rows;
    return [...rows].sort((a, b) => compare(column.by(a), column.by(b), sorting.down));
  }

  return {
    node: place,
    fill(next) {
      rows = next;
      place.hidden = rows.length === 0;
      draw();
    },
  };
}

// Columns without any value are hidden and named once.
function withValues(columns, rows) {
  const has = (column) =>
    column.kind !== 'number' || rows.some((row) => column.by(row) !== undefined);
  return [
    columns.filter(has),
    columns.filter((column) => !has(column)).map((column) => column.name),
  ];
}

function compare(a, b, down) {
  const noA = a === undefined || a === null || Number.isNaN(a);
  const noB = b === undefined || b === null || Number.isNaN(b);
  if (noA || noB) return noA - noB;
  const order =
    typeof a === 'number' && typeof b === 'number'
      ? a - b
      : String(a).localeCompare(String(b), 'en', {numeric: true});
  return down ? -order : order;
}

function plainTable(caption, columns, rows, heading, sorting) {
  return el(
    'table',
    {},
    el('caption', {}, caption),
    el(
      'thead',
      {},
      el(
        'tr',
        {},
        columns.map((column) =>
          el(
            'th',
            {
              scope: 'col',
              class: column.kind,
              'aria-sort':
                sorting?.column !== column.name
                  ? undefined
                  : sorting.down
                    ? 'descending'
                    : 'ascending',
            },
            heading(column),
          ),
        ),
      ),
    ),
    el(
      'tbody',
      {},
      rows.map((row) =>
        el(
          'tr',
          {class: row.rowClass},
          columns.map((column) => cell(column, row)),
        ),
      ),
    ),
  );
}

function cell(column, row) {
  const content = column.of(row);
  const shown = content === '' || content === undefined || content === null ? dash() : content;
  if (column.head) return el('th', {scope: 'row', class: column.kind}, shown);
  if (content === ' ') return el('td', {class: 'blank'});
  return el('td', {class: column.kind ?? 'text', 'data-name': column.name}, shown);
}

// A table without sorting, for a few rows in a meaningful order. `shape` is 'small' where it fits a
// phone as it is.
export function table(caption, columns, rows, shape = '') {
  return el(
    'div',
    {class: `table ${shape}`.trim(), tabindex: '0', role: 'group', 'aria-label': caption},
    plainTable(caption, columns, rows, (column) => column.name),
  );
}
