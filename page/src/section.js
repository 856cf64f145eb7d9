// SPDX-License-Identifier: Apache-2.0
// The frame of one part of the page: a heading that a screen reader can jump to, and a body.

import {el, update} from './dom.js';
import {moment} from './format.js';
import {short} from './text.js';

export function section(id, title) {
  const body = el('div', {class: 'body'});
  const node = el(
    'section',
    {id, 'aria-labelledby': `${id}-title`, tabindex: '-1'},
    el('h2', {id: `${id}-title`}, title, el('span', {class: 'old'}, ' (as it was last heard)')),
    body,
  );
  return {node, body};
}

// Whether this part of the page is visible, or nearly: distant parts request nothing. () => boolean
export function nearby(body) {
  let near = true;
  new IntersectionObserver(
    (entries) => {
      near = entries.at(-1).isIntersecting;
    },
    {rootMargin: '50%'},
  ).observe(body.closest('section') ?? body);
  return () => near;
}

// Adds an element to `body` that draw(answer) fills from /api/v1/NAME, repeatedly at this interval
// in seconds while it is visible; reports a missing answer.
export function fill(body, page, name, seconds, draw) {
  const trouble = el('div', {class: 'trouble'});
  const now = el('div', {class: 'now'});
  let heard = 0;
  body.append(trouble, now);
  page.device.watch(
    name,
    seconds,
    (answer, error) => {
      if (answer) {
        update(now, draw(answer));
        update(trouble);
        heard = Date.now() / 1000;
        return;
      }
      const why = short(error.why, 500);
      const asOf = heard > 0 ? ` (as of ${moment(heard)})` : '';
      if (now.childElementCount === 0) update(trouble, el('p', {class: 'unavailable'}, why));
      else update(trouble, el('p', {}, `Not current: ${why}${asOf}`));
    },
    nearby(body),
  );
}

// "Not available here": never an empty frame and never a zero. `why` is the device's reason.
export function unavailable(what, why) {
  return el('p', {class: 'unavailable'}, el('b', {}, `${what}: not available here. `), why ?? '');
}
