// SPDX-License-Identifier: Apache-2.0
// Pictures that the device refuses, or that this page cannot draw.

import {NoAnswer} from '../../../page/src/device.js';
import {frame} from '../../../page/src/pictures/frame.js';
import {forget, happened, series} from '../../../page/src/pictures/history.js';
import {rangeNamed} from '../../../page/src/ranges.js';
import {equal, test} from './check.js';

test('past: what is refused to one picture is not asked for by the next', async () => {
  let asked = 0;
  const refuse = async () => {
    ++asked;
    throw new NoAnswer(503, 'the history is switched off');
  };
  const device = {latest: () => null, once: refuse, recorded: refuse, past: refuse, events: refuse};
  const page = {device};
  const range = rangeNamed('1h');
  const found = [];
  for (const ask of [() => series(page, 'a', range), () => series(page, 'b', range),
                     () => happened(page, range)])
    await ask().catch((error) => found.push(error.why));
  equal([asked, ...found], [1, ...Array(3).fill('the history is switched off')]);
  forget();
  await series(page, 'a', range).catch(() => {});
  equal(asked, 2);
  forget();
});

test('frame: a picture that cannot be drawn says so', async () => {
  const page = new EventTarget();
  page.device = new EventTarget();
  let draw = null;
  page.picture = (how) => (draw = how);
  const {node} = frame(page, 'Broken', () => {
    throw new TypeError('no such thing');
  });
  const original = console.error;
  console.error = () => {};
  document.body.prepend(node);
  // It is drawn as soon as it is seen.
  draw(rangeNamed('1h'), () => true);
  for (let i = 0; i < 50 && !node.textContent.includes('cannot'); ++i)
    await new Promise((done) => setTimeout(done, 20));
  node.remove();
  console.error = original;
  equal(node.textContent, 'BrokenNot drawn: this page cannot draw it (no such thing).');
});
