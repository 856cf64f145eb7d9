// SPDX-License-Identifier: Apache-2.0
// The frame of one part of the page: a heading that a screen reader can jump to, and a body, which
// may be folded. What the reader opened or folded is part of the address.

import {el, update} from './dom.js';
import {moment} from './format.js';
import {short} from './text.js';
import {choose, chosen} from './url_state.js';

const EVERYTHING = 'all';

const listOf = (name) => (chosen(name) ?? '').split(',').filter(Boolean);

const without = (list, id) => list.filter((each) => each !== id && each !== EVERYTHING);

// What the reader decided about a section: 'open', 'folded' or ''.
function decided(id) {
  if (listOf('folded').includes(id)) return 'folded';
  const open = listOf('open');
  return open.includes(id) || open.includes(EVERYTHING) ? 'open' : '';
}

// `isNormal`: the section is so unless the reader says otherwise.
function decide(id, isOpen, isNormal) {
  const isAll = listOf('open').includes(EVERYTHING);
  const open = without(listOf('open'), id);
  const folded = without(listOf('folded'), id);
  if (isOpen && !isNormal && !isAll) open.push(id);
  if (!isOpen && (isNormal || isAll)) folded.push(id);
  if (isAll) open.push(EVERYTHING);
  choose('open', open.join(',') || null);
  choose('folded', folded.join(',') || null);
}

// A part that is always open.
export function section(id, title) {
  const body = el('div', {class: 'body'});
  const node = el(
    'section',
    {id, 'aria-labelledby': `${id}-title`, tabindex: '-1'},
    el('h2', {id: `${id}-title`, class: 'unseen'}, title),
    body,
  );
  return {node, body};
}

// One that may be folded, with a few words about it beside its title. {node, body, unfold(isOpen):
// unless the reader decided, say(text, level)}.
export function folded(id, title) {
  const body = el('div', {class: 'body'});
  const brief = el('span', {class: 'brief'});
  let isNormal = false;
  const details = el(
    'details',
    {
      ontoggle: () => {
        const is = details.open;
        if (is !== (decided(id) ? decided(id) === 'open' : isNormal)) decide(id, is, isNormal);
      },
    },
    el(
      'summary',
      {},
      el('h2', {id: `${id}-title`}, title, el('span', {class: 'old'}, ' (as it was last heard)')),
      brief,
    ),
    body,
  );
  details.open = decided(id) === 'open';
  const node = el('section', {id, 'aria-labelledby': `${id}-title`, tabindex: '-1'}, details);
  const follow = () => {
    details.open = decided(id) ? decided(id) === 'open' : isNormal;
  };
  addEventListener('hashchange', follow);
  return {
    node,
    body,
    unfold(isOpen) {
      isNormal = isOpen;
      follow();
    },
    say(text, level = '') {
      update(brief, text);
      brief.className = `brief ${level}`.trim();
    },
  };
}

// Opens the section that a link leads to.
export function open(node) {
  const details = node.matches('details') ? node : node.querySelector(':scope > details');
  if (details) details.open = true;
}

// Whether this part of the page is open and visible, or nearly: others request nothing. () =>
// boolean
export function nearby(body) {
  let near = false;
  const place = body.closest('section') ?? body;
  new IntersectionObserver(
    (entries) => {
      near = entries.at(-1).isIntersecting;
    },
    {rootMargin: '50%'},
  ).observe(place);
  return () => near && !body.closest('details:not([open])');
}

// Adds an element to `body` that draw(answer) fills from /api/v1/NAME, repeatedly at this interval
// in seconds while it is visible; reports a missing answer.
export function fill(body, page, name, seconds, draw) {
  const trouble = el('div', {class: 'trouble'});
  const now = el('div', {class: 'now'});
  // When what is shown was last heard; that is the device's last answer, if that could be drawn.
  let heard = 0;
  let isLast = false;
  let waiting = null;
  body.append(trouble, now);
  // What is folded is drawn when it is opened.
  const fold = body.closest('details');
  const take = (answer, error) => {
    waiting = fold && !fold.open ? [answer ?? waiting?.[0], error] : null;
    if (waiting) return;
    if (answer) {
      isLast = false;
      update(now, draw(answer));
      isLast = true;
      heard = page.device.heard(name);
      update(trouble);
    }
    if (!error) return;
    const why = short(error.why, 500);
    if (isLast) heard = page.device.heard(name);
    const asOf = heard > 0 ? ` (as of ${moment(heard)})` : '';
    if (now.childElementCount === 0) update(trouble, el('p', {class: 'unavailable'}, why));
    else update(trouble, el('p', {}, `Not current: ${why}${asOf}`));
  };
  fold?.addEventListener('toggle', () => waiting && take(...waiting));
  page.device.watch(name, seconds, take, nearby(body));
}

// "Not available here": never an empty frame and never a zero. `why` is the device's reason.
export function unavailable(what, why) {
  return el('p', {class: 'unavailable'}, el('b', {}, `${what}: not available here. `), why ?? '');
}
