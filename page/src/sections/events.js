// SPDX-License-Identifier: Apache-2.0
// Events: marks over time, and a list with all details.

import {el, show} from '../dom.js';
import {weightOf} from '../level.js';
import {endOf} from '../ranges.js';
import {frame} from '../pictures/frame.js';
import {happened} from '../pictures/history.js';
import {strip} from '../pictures/strip.js';
import {short} from '../text.js';
import {choose, chosen} from '../url_state.js';

import {eventItem, isDoubtful} from './event_item.js';

const WHAT = [
  ['', 'all'], ['kernel', 'kernel log'], ['alert', 'alerts'], ['daemon', 'jetmemd'],
  ['mark', 'notes']
];
const LEAST = [
  ['', 'all'], ['warning', 'warning and worse'], ['error', 'errors and worse'],
  ['critical', 'critical']
];
const WEIGHTS = ['info', 'warning', 'error', 'critical'];
const PAGE = 20;

function selection(name, label, options, changed) {
  const select =
      el('select', {
        onchange: () => {
          choose(name, select.value || null);
          changed();
        }
      },
         options.map(([value, text]) => el('option', {value}, text)));
  select.value = options.some(([value]) => value === chosen(name)) ? chosen(name) : '';
  return {node: el('label', {}, label, select), select};
}

export const events = {
  id: 'events',
  title: 'Events',
  brief: ({last_event: last}) => [last?.summary ? `last: ${short(last.summary, 80)}` : ''],
  create(body, page) {
    const jump = (event) => page.jumpTo(event.time);
    const marks = strip(jump);
    const list = el('ul', {class: 'events'});
    const message = el('p', {class: 'notes', role: 'status'});
    const older =
        el('button', {type: 'button', hidden: true, onclick: () => loadOlder()}, 'Show older ones');
    const kinds = new Map([['', 'all']]);
    let items = new Map();  // id -> {event, node}, newest first
    let shownRange = null;
    let next = null;  // `before` of the next page
    let run = 0;

    const changed = () => {
      items = new Map();
      next = null;
      again();
    };
    const what = selection('event', 'Of ', WHAT, changed);
    const kind = selection(
        'kind', 'Kind ',
        [
          ['', 'all'],
          ...(chosen('kind') ? [[chosen('kind'), chosen('kind').replaceAll('_', ' ')]] : [])
        ],
        changed);
    const weight = selection('weight', 'Weight ', LEAST, () => draw());

    const picture = frame(page, 'When it happened', fill);
    picture.body.replaceChildren(
        marks.node, el('div', {class: 'filters'}, what.node, kind.node, weight.node), message, list,
        el('p', {}, older));
    body.append(picture.node);

    const filters = () =>
        Object.fromEntries(Object.entries({category: what.select.value, kind: kind.select.value})
                               .filter(([, value]) => value !== ''));

    async function fill(range, isCurrent) {
      const mine = ++run;
      const all = await happened(page, range);
      if (!isCurrent() || mine !== run) return;
      const end = endOf(range, all.from?.time ?? page.device.time());
      marks.fill(
          {from: end - range.seconds, to: end, events: all.events ?? [], more: all.more === true});
      offerKinds(all.events ?? []);
      const isNew = shownRange !== range.name;
      if (isNew) {
        items = new Map();
        next = null;
        shownRange = range.name;
      }
      const first = await firstPage(range, all);
      if (!isCurrent() || mine !== run) return;
      const fresh = items.size === 0;
      take(first.events ?? []);
      if (fresh) next = first.more ? first.next : null;
      draw(first.incomplete_reason);
    }

    // Without filters it is part of the data of the marks.
    async function firstPage(range, all) {
      const only = filters();
      if (Object.keys(only).length > 0) {
        return page.device.events({...spanOf(range), limit: PAGE, ...only});
      }
      const newest = (all.events ?? []).slice(0, PAGE);
      const more = all.more === true || (all.events ?? []).length > newest.length;
      return {events: newest, more, next: newest.at(-1)?.id, incomplete_reason: all.incomplete_reason};
    }

    // The same with other filters: not limited to the charts' interval.
    async function again() {
      try {
        await fill(page.range, () => true);
      } catch (error) {
        show(message, error.why ?? String(error));
      }
    }

    async function loadOlder() {
      older.disabled = true;
      const mine = run;
      const range = page.range;
      try {
        const more = await page.device.events(
            {...spanOf(range), limit: PAGE, before: next, ...filters()});
        if (mine !== run && range !== page.range) return;
        take(more.events ?? []);
        next = more.more ? more.next : null;
        draw(more.incomplete_reason);
      } catch (error) {
        show(message, `Older events could not be loaded: ${error.why ?? error}.`);
      } finally {
        older.disabled = false;
      }
    }

    // A known event keeps its place on the page, unless it happened again.
    function take(some) {
      for (const event of some) {
        const known = items.get(event.id);
        if (known && known.event.count === event.count) continue;
        items.set(event.id, {event, node: eventItem(event, jump)});
      }
      items = new Map([...items].sort(([a], [b]) => b - a));
    }

    function offerKinds(some) {
      for (const {kind: name} of some) kinds.set(name, name.replaceAll('_', ' '));
      const chosenKind = kind.select.value;
      const options = [...kinds].sort(([a], [b]) => a.localeCompare(b));
      if (options.length !== kind.select.options.length) {
        show(kind.select, options.map(([value, text]) => el('option', {value}, text)));
        kind.select.value = chosenKind;
      }
    }

    function draw(trouble) {
      const least = Math.max(0, WEIGHTS.indexOf(weight.select.value));
      const shown = [...items.values()].filter(
          ({event}) => WEIGHTS.indexOf(weightOf(event)) >= least);
      place(list, shown.map(({node}) => node));
      older.hidden = next === null;
      const hidden = items.size - shown.length;
      show(
          message,
          shown.length === 0 ? `No matching events: ${page.range.phrase}.` :
                               `${shown.length} shown, newest first${
                                   next === null ? '' : '; there are older ones'}.`,
          hidden > 0 ? ` ${hidden} less severe ones hidden.` : '',
          shown.some(({event}) => isDoubtful(event)) ?
              ' A time with "?" is of a clock that was not known to be right.' :
              '',
          trouble ? ` Part of the history is missing: ${trouble}.` : '');
    }
  },
};

const spanOf = ({seconds, from, to}) => (to === undefined ? {from: -seconds} : {from, to});

// Puts the nodes into this order; a node already in place is not touched.
function place(list, nodes) {
  const wanted = new Set(nodes);
  for (const each of [...list.children])
    if (!wanted.has(each)) each.remove();
  nodes.forEach((node, i) => {
    if (list.children[i] !== node) list.insertBefore(node, list.children[i] ?? null);
  });
}
