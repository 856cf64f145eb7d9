// SPDX-License-Identifier: Apache-2.0
// Why a chart is empty: the device's reason for the source of its data.

import {el, show} from '../dom.js';
import {duration, moment} from '../format.js';

import {recordedSpan} from './history.js';

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
  const when = el('span');
  const node = el('p', {class: 'unavailable'}, text, why, when);
  let watching = false;
  let known = null;
  let asked = 0;

  // When there will be something, or when there was.
  async function tellWhen(range) {
    const mine = ++asked;
    let span = null;
    try {
      span = await recordedSpan(page);
    } catch {
      // The chart itself reports it.
    }
    if (mine === asked) show(when, whenText(span, range, known, page.device.time()));
  }

  function whenText(span, range, sources, now) {
    if (!span) return '';
    const begin = (range.to ?? now) - range.seconds;
    if (span.oldest > (range.to ?? now))
      return ` The recording begins at ${moment(span.oldest)}, after this time.`;
    if (range.to !== undefined && range.to < now - 60) return '';
    const mine = (sources ?? []).filter(({source, state}) => names.includes(source) && state === 'ok');
    // What is read and has been recorded for longer than it takes has nothing to record.
    const every = Math.max(0, ...mine.map(({interval_seconds: each}) => each ?? 0));
    const due = span.begun + every + 2 * span.step;
    if (mine.length === 0 || span.begun < begin || due < now) return '';
    return ` It is read every ${duration(every)}: the first values are due at ${moment(due)}.`;
  }

  function tell(sources) {
    known = sources;
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
    say(what, {isSources = true, range}) {
      if (text.textContent !== what) text.textContent = what;
      why.hidden = !isSources;
      when.hidden = !isSources;
      if (isSources) tellWhen(range);
      if (!isSources || watching) return;
      watching = true;
      watch(page, {node, tell});
    },
  };
}
