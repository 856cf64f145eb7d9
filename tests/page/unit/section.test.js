// SPDX-License-Identifier: Apache-2.0
// Parts of the page whose question is not answered: what stays is marked as old.

import {el} from '../../../page/src/dom.js';
import {fill} from '../../../page/src/section.js';
import {fragmentation} from '../../../page/src/sections/fragmentation.js';
import {equal, test} from './check.js';

// What a part of the page looks like after these answers; an error is {status, why}.
function filled(answers, draw = ({text}) => el('p', {}, text)) {
  const body = el('div');
  let take = null;
  fill(body, {device: {watch: (name, seconds, taker) => (take = taker)}}, 'thermal', 3, draw);
  return answers.map((each) => {
    if (each.why) take(null, each);
    else take(each);
    return body.textContent.replace(/\d\d:\d\d:\d\d/, 'HH:MM:SS');
  });
}

test('fill: old content is marked, whatever failed', () => {
  const lost = {status: 0, why: 'the connection failed'};
  equal(filled([lost, {text: 'hot'}, lost, {status: 429, why: 'too many'}, {text: 'cold'}]), [
    'the connection failed',
    'hot',
    'Not current: the connection failed (as of HH:MM:SS)hot',
    'Not current: too many (as of HH:MM:SS)hot',
    'cold',
  ]);
});

function zones(status) {
  const body = el('section', {}, el('div'));
  const takers = [];
  const page = new EventTarget();
  page.picture = () => {};
  page.cursor = new EventTarget();
  page.device = new EventTarget();
  page.device.watch = (name, seconds, take) => takers.push(take);
  fragmentation.create(body.firstChild, page);
  for (const take of takers) take(status);
  return body;
}

test('fragmentation: an unknown value has its reason', () => {
  const body = zones({
    fragmentation: {
      zones: [{
        node: '0',
        zone: 'DMA',
        free_cma_bytes: 0,
        absent: {
          free_bytes: 'zoneinfo: denied',
          largest_order_outside_cma: 'nothing is free outside contiguous memory areas',
        },
      }],
      absent: {best_order: 'nobody knows CMA', evidence: 'only jetmemd can tell'},
    },
  });
  equal([...body.querySelectorAll('td')].map((each) => each.textContent), [
    'not known: zoneinfo: denied', '0 B',
    'not known: nothing is free outside contiguous memory areas', 'not known',
  ]);
  equal(body.querySelector('.now p').textContent,
        'Largest block certainly available to drivers: not known: nobody knows CMA. Signs of ' +
            'fragmentation in the last ten minutes: not known: only jetmemd can tell.');
});

test('fragmentation: without zones, why', () => {
  const body = zones({fragmentation: {zones: [], absent: {zones: 'buddyinfo: denied'}}});
  equal(body.querySelector('.unavailable').textContent,
        'Free blocks: not available here. buddyinfo: denied');
});
