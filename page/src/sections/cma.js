// SPDX-License-Identifier: Apache-2.0
// Contiguous memory: what drivers allocated in each area, and whether the next buffer still fits.

import {absences, dash, why} from '../absent.js';
import {el} from '../dom.js';
import {figures} from '../stats.js';
import {bytes, count, duration, moment, ratio} from '../format.js';
import {meter} from '../meter.js';
import {cmaOwnersPicture, cmaPicture, largestRunPicture} from '../pictures/index.js';
import {fill, unavailable} from '../section.js';
import {table} from '../table.js';
import {named, short, words} from '../text.js';

import {owners} from './cma_owners.js';

export const cma = {
  id: 'cma',
  title: 'Contiguous memory (CMA)',
  inShort: 'CMA',
  brief: ({cma: {has_cma: has, areas = []} = {}}) => {
    if (areas.length === 0) return [has === false ? 'none here' : 'not known'];
    const [fullest] = [...areas].sort((a, b) => (b.used_ratio ?? 0) - (a.used_ratio ?? 0));
    const used = ratio(fullest.used_ratio);
    return [
      [used && `${used} allocated`, fullest.frame_fit_ratio < 1 && 'the largest request does not fit']
        .filter(Boolean)
        .join(', ') || 'not known',
      fullest.frame_fit_ratio < 1 ? 'warning' : '',
    ];
  },
  create(body, page) {
    fill(body, page, 'cma', 5, draw);
    body.append(el('div', {class: 'pictures'}, cmaPicture(page), cmaOwnersPicture(page), largestRunPicture(page)));
  },
};

function draw(answer) {
  const {absent = {}} = answer;
  if (answer.has_cma === false)
    return unavailable('Contiguous memory', short(answer.none ?? '', 400));
  const areas = answer.areas ?? [];
  return [
    answer.has_cma === undefined && areas.length === 0
      ? unavailable('Contiguous memory', why(absent, 'has_cma'))
      : null,
    figures([
      {name: 'All areas', text: bytes(answer.total_bytes), key: 'total_bytes', absent},
      {
        name: 'Free',
        text: bytes(answer.free_bytes),
        key: 'free_bytes',
        absent,
        note: 'programs use the rest until drivers need it',
      },
      {
        name: 'Requests refused',
        text: count(answer.calls_failed),
        key: 'calls_failed',
        absent,
        note:
          answer.calls_succeeded === undefined
            ? 'since boot'
            : `since boot, ${count(answer.calls_succeeded)} granted`,
      },
      answer.largest_request_bytes === undefined
        ? null
        : {name: 'Largest refused', text: bytes(answer.largest_request_bytes)},
    ]),
    (answer.advice ?? []).map((each) => el('p', {class: 'remark'}, short(each, 600))),
    areas.length > 0 ? table('Contiguous memory areas', COLUMNS, areas) : null,
    areas.map(owners),
    left(answer.areas_omitted, 'areas'),
    reasons(areas),
    absences(absent, ['total_bytes', 'free_bytes', 'calls_failed', 'has_cma', 'failures']),
    failures(answer),
  ];
}

const left = (number, what) =>
  number > 0 ? el('p', {class: 'quiet'}, `and ${count(number)} more ${what}`) : null;

const COLUMNS = [
  {name: 'Area', head: true, of: (area) => named(area.area)},
  {name: 'Size', kind: 'number', of: (area) => bytes(area.bytes)},
  {
    name: 'Allocated by drivers',
    kind: 'number',
    of: (area) =>
      area.used_bytes === undefined
        ? ''
        : [
            bytes(area.used_bytes),
            ' ',
            el('span', {class: 'note'}, ratio(area.used_ratio)),
            meter(area.used_ratio, level(area.used_ratio)),
          ],
  },
  {name: 'Left', kind: 'number', of: (area) => bytes(area.available_bytes)},
  {name: 'Largest free block', kind: 'number', of: (area) => bytes(area.largest_run_bytes)},
  {name: 'Largest block wanted', kind: 'number', of: (area) => bytes(area.wanted_bytes)},
  {name: 'Fits', of: fits},
];

const level = (used) => (used >= 0.95 ? 'critical' : used >= 0.85 ? 'warning' : '');

function fits(area) {
  if (area.frame_fit_ratio === undefined) return dash();
  if (area.frame_fit_ratio >= 1) return 'yes';
  return el('b', {class: 'bad'}, `no, ${ratio(area.frame_fit_ratio)} of it`);
}

// Why cells are empty: once, if all areas have the same reason.
function reasons(areas) {
  const message = new Map();
  for (const area of areas) {
    for (const [key, text] of Object.entries(area.absent ?? {})) {
      const line = short(text, 400);
      const known = message.get(line) ?? {areas: new Set(), keys: new Set()};
      message.set(line, known);
      known.areas.add(short(area.area));
      known.keys.add(words(key));
    }
  }
  if (message.size === 0) return null;
  return el(
    'ul',
    {class: 'absences'},
    [...message].map(([line, {areas: whose, keys}]) =>
      el(
        'li',
        {},
        el(
          'b',
          {},
          `${[...keys].join(', ')} of ${
            whose.size === areas.length
              ? areas.length > 1
                ? 'all areas'
                : [...whose][0]
              : [...whose].join(', ')
          }: `,
        ),
        line,
      ),
    ),
  );
}

function failures(answer) {
  const all = answer.failures ?? [];
  const none = why(answer.absent, 'failures');
  if (none)
    return el('p', {class: 'unavailable'}, `Refused requests are unknown: ${none}.`);
  if (all.length === 0) return null;
  return [
    el('h3', {}, 'Refused requests'),
    el(
      'ol',
      {class: 'list', reversed: true},
      all.map((each) =>
        el(
          'li',
          {},
          each.time !== undefined
            ? `${moment(each.time)} `
            : each.since_boot_seconds !== undefined
              ? `${duration(each.since_boot_seconds)} after boot `
              : '',
          short(each.summary || `${words(each.kind)} ${each.subject ?? ''}`, 600),
          each.count > 1 ? [' ', el('span', {class: 'note'}, `${count(each.count)} times`)] : null,
        ),
      ),
    ),
    left(answer.failures_omitted, 'earlier ones'),
  ];
}
