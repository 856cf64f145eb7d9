// SPDX-License-Identifier: Apache-2.0
// The doctor's answer: conclusion, timeline, and each step with its evidence.

import {el} from '../dom.js';
import {count, many, moment} from '../format.js';
import {badge, levelOf} from '../level.js';
import {runbook} from '../runbook.js';
import {fill} from '../section.js';
import {short, words} from '../text.js';

export const doctor = {
  id: 'doctor',
  title: 'What happened',
  create(body, page) {
    fill(body, page, 'doctor', 30, draw);
  },
};

function draw(answer) {
  const steps = answer.steps ?? [];
  const wrong = steps.filter((each) => levelOf(each.verdict) !== 'ok');
  const fine = steps.filter((each) => levelOf(each.verdict) === 'ok');
  return [
    el(
      'p',
      {class: 'conclusion'},
      badge(answer.verdict),
      ' ',
      short(answer.conclusion ?? '', 3000),
    ),
    timeline(answer.timeline ?? []),
    wrong.map(step),
    fine.length === 0
      ? null
      : el(
          'details',
          {'data-key': 'fine'},
          el('summary', {}, `${many(fine.length, 'step', 'steps')} found nothing wrong`),
          fine.map(step),
        ),
    remarks(answer),
  ];
}

function timeline(all) {
  if (all.length === 0) return null;
  return el(
    'div',
    {class: 'timeline'},
    el('h3', {}, 'In order'),
    el(
      'ol',
      {},
      all.map((each) => el('li', {}, time(each), short(each.text, 600))),
    ),
  );
}

const time = (each) =>
  each.time === undefined ? null : [el('time', {datetime: iso(each.time)}, moment(each.time)), ' '];

function iso(seconds) {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

function step(each) {
  return el(
    'details',
    {class: `step ${levelOf(each.verdict)}`, 'data-key': short(each.step, 60)},
    el(
      'summary',
      {},
      badge(each.verdict),
      ' ',
      el('b', {}, short(each.title || words(each.step))),
      ' ',
      short(each.summary ?? '', 800),
    ),
    evidence(each),
    advice(each),
  );
}

function evidence({evidence: all = [], evidence_omitted: left = 0}) {
  if (all.length === 0) return null;
  return el(
    'ul',
    {},
    all.map((each) => el('li', {}, time(each), short(each.text, 800))),
    left > 0 ? el('li', {}, `and ${count(left)} more`) : null,
  );
}

function advice(each) {
  return el(
    'dl',
    {class: 'advice'},
    [
      ['Cause', each.cause && short(each.cause, 800)],
      ['Remedy', each.remedy && short(each.remedy, 800)],
      ['To confirm', each.confirm && el('code', {}, short(each.confirm, 400))],
      ['Read', runbook(each.runbook)],
    ]
      .filter(([, what]) => what)
      .map(([name, what]) => [el('dt', {}, name), el('dd', {}, what)]),
  );
}

function remarks({from = {}, history = {}, notes = [], time_zone: zone}) {
  const all = notes.map((each) => short(each, 400));
  if (from.time !== undefined) all.unshift(`As of ${moment(from.time)}.`);
  if (history.absent)
    all.unshift(`The beginning is unknown, as there is no history: ${short(history.absent, 400)}.`);
  if (zone)
    all.push(
      `Times within sentences are the device's (${short(zone, 40)}), others this browser's.`,
    );
  return el(
    'ul',
    {class: 'notes'},
    all.map((each) => el('li', {}, each)),
  );
}
