// SPDX-License-Identifier: Apache-2.0
// A position in a chart that the keyboard moves: left and right in time, Home and End to its ends,
// Page Up and Down in larger steps, up and down along the chart's rows. It announces the values
// there. Enter marks a place, and Enter again shows what lies between the two.

import {el} from '../dom.js';

// of: {count() -> places along the time, rows?() -> places across, tell(place, row) -> text,
// leave(), zoom(place, place)}. tell() also shows it in the picture.
export function crosshair(name, of) {
  let place = -1;
  let row = 0;
  let mark = -1;
  const node = el('div', {
    class: 'crosshair',
    role: 'slider',
    tabindex: '0',
    'aria-label': `Point in time: ${name}`,
    'aria-valuemin': '0',
    'aria-valuemax': '0',
    'aria-valuenow': '0',
    'aria-valuetext': 'the newest: arrow keys go back in time',
    onkeydown: (event) => move(event),
    onblur: () => {
      mark = -1;
      of.leave();
    },
    onfocus: () => node.matches(':focus-visible') && place >= 0 && go(place, row),
  });

  function go(to, toRow) {
    const last = of.count() - 1;
    if (last < 0) return;
    place = Math.max(0, Math.min(last, to));
    row = Math.max(0, Math.min((of.rows?.() ?? 1) - 1, toRow));
    node.setAttribute('aria-valuemax', String(last));
    node.setAttribute('aria-valuenow', String(place));
    node.setAttribute('aria-valuetext', of.tell(place, row));
  }

  function move(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const last = of.count() - 1;
    const at = place < 0 ? last : place;
    const far = Math.max(1, Math.round(last / 10));
    const to = {
      ArrowLeft: [at - (place < 0 ? 0 : 1), row],
      ArrowRight: [at + 1, row],
      PageUp: [at - far, row],
      PageDown: [at + far, row],
      Home: [0, row],
      End: [last, row],
      ArrowUp: of.rows ? [at, row - 1] : undefined,
      ArrowDown: of.rows ? [at, row + 1] : undefined,
    }[event.key];
    if (event.key === 'Escape') {
      mark = -1;
      return of.leave();
    }
    if (event.key === 'Enter' && last >= 0) {
      event.preventDefault();
      return zoom(at);
    }
    if (!to) return;
    event.preventDefault();
    go(...to);
  }

  function zoom(at) {
    if (mark < 0 || mark === at) {
      mark = at;
      const begin = of.tell(at, row).split(': ', 1)[0];
      node.setAttribute('aria-valuetext', `From ${begin}: Enter again at its end zooms in`);
      return;
    }
    of.zoom(Math.min(mark, at), Math.max(mark, at));
    mark = -1;
  }

  return {
    node,
    // After a redraw the same position is announced again only on request.
    renew() {
      const last = of.count() - 1;
      if (place > last) place = last;
      node.setAttribute('aria-valuemax', String(Math.max(0, last)));
      node.setAttribute('aria-valuenow', String(place < 0 ? Math.max(0, last) : place));
    },
  };
}
