// SPDX-License-Identifier: Apache-2.0
// Parts of the page whose question is not answered: what stays is marked as old.

import {el} from '../../../page/src/dom.js';
import {fill} from '../../../page/src/section.js';
import {fragmentation} from '../../../page/src/sections/fragmentation.js';
import {equal, test} from './check.js';

// What a part of the page looks like after these answers, each a minute after the one before; an error
// is {status, why}, {same: true} the answer before again, which no taker hears of.
function filled(answers, draw = ({text}) => el('p', {}, text)) {
  const body = el('div');
  const begin = new Date().setHours(0, 0, 0, 0) / 1000;
  let heard = 0;
  let take = null;
  const device = {watch: (name, seconds, taker) => (take = taker), heard: () => heard};
  fill(body, {device}, 'thermal', 3, draw);
  return answers.map((each, i) => {
    if (!each.why) heard = begin + 60 * i;
    try {
      if (each.why) take(null, each);
      else if (!each.same) take(each);
    } catch (error) {
      take(null, {status: -1, why: error.message});
    }
    return body.textContent;
  });
}

test('fill: old content is marked, whatever failed', () => {
  const lost = {status: 0, why: 'the connection failed'};
  equal(filled([lost, {text: 'hot'}, lost, {status: 429, why: 'too many'}, {text: 'cold'}]), [
    'the connection failed',
    'hot',
    'Not current: the connection failed (as of 00:01:00)hot',
    'Not current: too many (as of 00:01:00)hot',
    'cold',
  ]);
});

test('fill: old content is as old as the last answer that confirmed it', () => {
  const lost = {status: 0, why: 'lost'};
  equal(filled([{text: 'hot'}, {same: true}, {same: true}, lost]).at(-1), 'Not current: lost (as of 00:02:00)hot');
  const draw = ({text}) => {
    if (!text) throw new Error('odd');
    return el('p', {}, text);
  };
  equal(filled([{text: 'hot'}, {}, {same: true}, lost], draw).slice(1),
        ['Not current: odd (as of 00:00:00)hot', 'Not current: odd (as of 00:00:00)hot',
         'Not current: lost (as of 00:00:00)hot']);
});

function zones(status) {
  const body = el('section', {}, el('div'));
  const takers = [];
  const page = new EventTarget();
  page.picture = () => {};
  page.cursor = new EventTarget();
  page.device = new EventTarget();
  page.device.watch = (name, seconds, take) => takers.push(take);
  page.device.heard = () => 0;
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
      absent: {best_bytes: 'nobody knows CMA', evidence: 'only jetmemd can tell'},
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
