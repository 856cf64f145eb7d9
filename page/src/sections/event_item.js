// SPDX-License-Identifier: Apache-2.0
// One event of the list.

import {el} from '../dom.js';
import {count as countText, duration, moment} from '../format.js';
import {weightOf} from '../level.js';

const SOURCES = {
  kernel: 'kernel log',
  alert: 'alert',
  daemon: 'jetmemd',
  mark: 'note',
  guess: 'guess'
};

function timeOf(event) {
  if (typeof event.time !== 'number') {
    return el(
        'span', {class: 'when'},
        `time unknown, ${duration(event.since_boot_seconds)} after a boot`);
  }
  const time = el('time', {datetime: iso(event.time)}, moment(event.time));
  return el('span', {class: 'when'}, time, isDoubtful(event) ? '?' : '');
}

// Marked in the list, which says what the mark means.
export const isDoubtful = ({time, time_trusted: isTrusted}) =>
    typeof time === 'number' && isTrusted === false;

function iso(seconds) {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

function often(event) {
  if (!(event.count > 1)) return '';
  const lasted = event.last_since_boot_seconds - event.since_boot_seconds;
  return ` x${countText(event.count)}${lasted >= 1 ? ` over ${duration(lasted)}` : ''}.`;
}

function valueText(value) {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' && !Number.isInteger(value))
    return String(Math.abs(value) < 100 ? Number(value.toPrecision(3)) : Math.round(value));
  return typeof value === 'object' ?
      Object.entries(value).map(([name, each]) => `${name}=${valueText(each)}`).join(', ') :
      String(value);
}

function fieldsOf(event) {
  const reported = {
    source: SOURCES[event.category] ?? event.category,
    kind: event.kind,
    subject: event.subject,
    origin: event.origin === 'probe' ? 'jetmem\u2019s own probe' : undefined,
    boot: event.boot,
    'since boot': duration(event.since_boot_seconds),
    ...event.fields,
  };
  return el(
      'dl', {},
      Object.entries(reported)
          .map(([name, value]) => [name, valueText(value)])
          .filter(([, text]) => text !== '')
          .map(([name, text]) => [el('dt', {}, name), el('dd', {}, text)]));
}

// jump(event): the charts show the time of the event.
export function eventItem(event, jump) {
  const details =
      el('details', {
        ontoggle: () => {
          // Created when the reader opens it.
          if (details.open && details.childElementCount === 1) details.append(fieldsOf(event));
        }
      },
         el('summary', {}, 'Details'));
  const weight = weightOf(event);
  return el(
      'li', {class: weight, 'data-kind': event.kind}, jumpTo(event, jump), el('span', {class: 'weight'}, weight),
      el('span', {class: 'what'}, event.category === 'alert' ? `${event.kind}: ` : '', event.summary,
         often(event)),
      details);
}

function jumpTo(event, jump) {
  if (typeof event.time !== 'number') return timeOf(event);
  return el(
      'button',
      {type: 'button', class: 'jump', title: 'Show the charts of this time', onclick: () => jump(event)},
      timeOf(event));
}
