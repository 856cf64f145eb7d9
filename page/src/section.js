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

// Tells whether a reader is at this part of the page, or nearly: what is far away need not be asked
// for. () => boolean
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

// Puts into `body` a place that is filled with draw(answer) of /api/v1/NAME, anew every so many
// seconds while a reader is near; and says so where the device did not answer.
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
      else update(trouble, el('p', {}, `Not as of now: ${why}${asOf}`));
    },
    nearby(body),
  );
}

// "Not available here": never an empty frame and never a zero. `why` is what the device says.
export function unavailable(what, why) {
  return el('p', {class: 'unavailable'}, el('b', {}, `${what}: not available here. `), why ?? '');
}
