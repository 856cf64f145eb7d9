// SPDX-License-Identifier: Apache-2.0
// The frame of every chart: a title, a place, and when to draw. It is not drawn, and the device not
// queried, while it is far from the visible part.

import {el, show} from '../dom.js';
import {short} from '../text.js';

import {forget} from './history.js';

// The device's reason if it answered without data; otherwise this page's own error.
const whyOf = (error) =>
    short(error.why ?? `this page cannot draw it (${error.message ?? error})`, 500);

let number = 0;
const seen = new Set();

// Answers from before the device's absence must not be drawn as new.
function forgetWhenBack(page) {
  if (seen.has(page)) return;
  seen.add(page);
  page.device.addEventListener('back', forget);
}

// draw(range, isCurrent) fills `body`; if it throws, the error is shown, and the last drawing
// stays. Returns {node, body, title}.
export function frame(page, title, draw) {
  forgetWhenBack(page);
  const id = `picture-${++number}`;
  const body = el('div', {class: 'drawn'}, el('p', {class: 'waiting'}, 'Not drawn yet.'));
  const trouble = el('p', {class: 'unavailable', hidden: true});
  const node =
      el('figure', {class: 'picture', 'aria-labelledby': id},
         el('figcaption', {}, el('h3', {id}, title)), trouble, body);
  let near = false;
  let drawn = null;  // the range that is drawn
  let due = null;

  async function now(range, isCurrent) {
    due = null;
    // A drawing of another range is not what was requested.
    if (drawn !== null && drawn !== range) node.setAttribute('aria-busy', 'true');
    try {
      await draw(range, isCurrent);
      if (!isCurrent()) return;
      drawn = range;
      trouble.hidden = true;
    } catch (error) {
      if (!isCurrent()) return;
      if (error.why === undefined) console.error(error);
      body.querySelector('.waiting')?.remove();
      show(
          trouble, el('b', {}, body.hasChildNodes() ? 'Not updated: ' : 'Not drawn: '),
          whyOf(error), '.', drawn === null ? '' : ` This is old and shows ${drawn.text}.`);
      trouble.hidden = false;
    } finally {
      if (isCurrent()) node.removeAttribute('aria-busy');
    }
  }

  new IntersectionObserver((entries) => {
    near = entries.at(-1).isIntersecting;
    if (near && due?.isCurrent()) now(due.range, due.isCurrent);
  }, {rootMargin: '300px'}).observe(node);

  // Drawn when its section is opened, or when it comes near.
  page.picture((range, isCurrent) => {
    if (near && node.checkVisibility?.() !== false) return now(range, isCurrent);
    due = {range, isCurrent};
    return undefined;
  });
  return {node, body, title};
}
