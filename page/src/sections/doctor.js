// SPDX-License-Identifier: Apache-2.0
// The doctor's answer: conclusion, timeline, and each step with its evidence.

import {copyable} from '../copyable.js';
import {el} from '../dom.js';
import {count, many, moment} from '../format.js';
import {badge, levelOf} from '../level.js';
import {runbookButton} from '../runbook.js';
import {fill} from '../section.js';
import {short, words} from '../text.js';

export const doctor = {
  id: 'doctor',
  title: 'What happened',
  create(body, page, {say}) {
    fill(body, page, 'doctor', 30, (answer) => draw(answer, page));
    page.device.watch('doctor', 30, (answer) => {
      if (!answer) return;
      const wrong = (answer.steps ?? []).filter((each) => levelOf(each.verdict) !== 'ok').length;
      say(wrong === 0 ? 'nothing wrong found' : many(wrong, 'finding', 'findings'));
    });
  },
};

function draw(answer, page) {
  const steps = answer.steps ?? [];
  const wrong = steps.filter((each) => levelOf(each.verdict) !== 'ok');
  const fine = steps.filter((each) => levelOf(each.verdict) === 'ok');
  return [
    el(
      'p',
      {class: 'conclusion'},
      badge(answer.level),
      ' ',
      short(answer.reason ?? '', 1000),
    ),
    answer.conclusion ? el('p', {}, short(answer.conclusion, 3000)) : null,
    timeline(answer.timeline ?? [], page),
    wrong.map((each) => step(each, page)),
    fine.length === 0
      ? null
      : el(
          'details',
          {'data-key': 'fine'},
          el('summary', {}, `${many(fine.length, 'step', 'steps')} found nothing wrong`),
          fine.map((each) => step(each, page)),
        ),
    remarks(answer),
  ];
}

function timeline(all, page) {
  if (all.length === 0) return null;
  return el(
    'div',
    {class: 'timeline'},
    el('h3', {}, 'In order'),
    el(
      'ol',
      {},
      all.map((each) => el('li', {}, jump(each, page), short(each.text, 600))),
    ),
  );
}

const jump = (each, page) =>
  each.time === undefined
    ? null
    : [
        el(
          'button',
          {
            type: 'button',
            class: 'jump',
            title: 'Show the charts of this time',
            onclick: () => page.jumpTo(each.time),
          },
          moment(each.time),
        ),
        ' ',
      ];

const time = (each) =>
  each.time === undefined ? null : [el('time', {datetime: iso(each.time)}, moment(each.time)), ' '];

function iso(seconds) {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

function step(each, page) {
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
    advice(each, page),
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

function advice(each, page) {
  return el(
    'dl',
    {class: 'advice'},
    [
      ['Cause', each.cause && short(each.cause, 800)],
      ['Remedy', each.remedy && short(each.remedy, 800)],
      ['To confirm', each.confirm && copyable(short(each.confirm, 400))],
      ['Read', runbookButton(page, each.runbook, each.alerts?.[0])],
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
