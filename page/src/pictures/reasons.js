// Why there is nothing to draw: what the device says of the source that would tell it.

import {el, show} from '../dom.js';

const SAYS = {
  absent: 'this device has none',
  denied: 'it may not be read',
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

// What stands where a picture would be: a text, and as soon as the device has said it, why.
// `names`: sources of /api/v1/now. One for each picture: it goes on listening.
export function emptiness(page, names) {
  const text = el('b');
  const why = el('span');
  const node = el('p', {class: 'unavailable'}, text, why);
  let watching = false;
  function tell(sources) {
    const told = sources.filter(
        ({source, state, stale}) => names.includes(source) && (state !== 'ok' || stale));
    show(
        why,
        told.map(
            ({source, state, reason, stale}) =>
                ` Source ${source}: ${
                    state === 'ok' && stale ? 'it was not read for long' : SAYS[state] ?? state}` +
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
