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
  return el(
      'span', {class: 'when'}, time,
      event.time_trusted === false ? ' (clock not known to be right)' : '');
}

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
  return typeof value === 'object' ?
      Object.entries(value).map(([name, each]) => `${name}=${valueText(each)}`).join(', ') :
      String(value);
}

function fieldsOf(event) {
  const reported = {
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
      'li', {class: weight}, jumpTo(event, jump), ' ',
      el('span', {class: 'weight'},
         `${weight}, ${SOURCES[event.category] ?? event.category} (${event.kind.replaceAll('_', ' ')})`),
      el('div', {}, event.summary, often(event)), details);
}

function jumpTo(event, jump) {
  if (typeof event.time !== 'number') return timeOf(event);
  return el(
      'button',
      {type: 'button', class: 'jump', title: 'Show the charts of this time', onclick: () => jump(event)},
      timeOf(event));
}
