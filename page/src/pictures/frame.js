// What every picture of the past has: a title, a place, and when it is drawn. It is not drawn, and
// the device not asked, while it is far from what the reader sees.

import {el, show} from '../dom.js';
import {short} from '../text.js';

import {forget} from './past.js';

// Of an answer that is none, what the device says; of anything else, that the fault is this page's.
const whyOf = (error) =>
    short(error.why ?? `this page cannot draw it (${error.message ?? error})`, 500);

let number = 0;
const seen = new Set();

// Answers of before the device was away are not to be drawn as new.
function forgetWhenBack(page) {
  if (seen.has(page)) return;
  seen.add(page);
  page.device.addEventListener('back', forget);
}

// draw(range, isCurrent) fills `body`; where it throws that is said, and what was drawn before
// stays. Gives {node, body, title}.
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
    // Of another range: what is there is not what was asked for.
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
          trouble, el('b', {}, body.hasChildNodes() ? 'Not drawn anew: ' : 'Not drawn: '),
          whyOf(error), '.', drawn === null ? '' : ` This is of before, and shows ${drawn.text}.`);
      trouble.hidden = false;
    } finally {
      if (isCurrent()) node.removeAttribute('aria-busy');
    }
  }

  new IntersectionObserver((entries) => {
    near = entries.at(-1).isIntersecting;
    if (near && due?.isCurrent()) now(due.range, due.isCurrent);
  }, {rootMargin: '300px'}).observe(node);

  page.picture((range, isCurrent) => {
    if (near && node.checkVisibility?.() !== false) return now(range, isCurrent);
    due = {range, isCurrent};
    return undefined;
  });
  return {node, body, title};
}
