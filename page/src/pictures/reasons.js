// SPDX-License-Identifier: Apache-2.0
// Why a chart is empty: the device's reason for the source of its data.

import {el, show} from '../dom.js';

const SAYS = {
  absent: 'this device has none',
  denied: 'reading is denied',
  failed: 'it could not be read',
  disabled: 'it is switched off in the settings',
  pending: 'it was not read yet',
};

// Who wants to know of a page's sources, and what they were last. One look serves all pictures.
const pages = new WeakMap();

function watch(page, tell) {
  let known = pages.get(page);
  if (!known) {
    known = {sources: null, takers: []};
    pages.set(page, known);
    page.device.watch('now', 600, (now) => {
      if (!now) return;
      known.sources = now.sources ?? [];
      for (const {tell: each} of known.takers) each(known.sources);
    }, () => known.takers.some(({node}) => node.isConnected));
  }
  known.takers.push(tell);
  if (known.sources) tell.tell(known.sources);
}

// Shown in place of a chart: a text and, once known, the reason.
// `names`: sources of /api/v1/now. One for each picture: it goes on listening.
export function emptiness(page, names) {
  const text = el('b');
  const why = el('span');
  const node = el('p', {class: 'unavailable'}, text, why);
  let watching = false;
  function tell(sources) {
    const reported = sources.filter(
        ({source, state, stale}) => names.includes(source) && (state !== 'ok' || stale));
    show(
        why,
        reported.map(
            ({source, state, reason, stale}) =>
                ` Source ${source}: ${
                    state === 'ok' && stale ? 'its last reading is too old' : SAYS[state] ?? state}` +
                `${reason ? ` (${reason})` : ''}.`));
  }
  return {
    node,
    say(what, isSources = true) {
      if (text.textContent !== what) text.textContent = what;
      why.hidden = !isSources;
      if (!isSources || watching) return;
      watching = true;
      watch(page, {node, tell});
    },
  };
}
