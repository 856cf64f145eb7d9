// SPDX-License-Identifier: Apache-2.0
// Temperatures, and what throttles the device.

import {absences, why} from '../absent.js';
import {el} from '../dom.js';
import {figures} from '../stats.js';
import {celsius, count, marginText, ratio} from '../format.js';
import {
  enginesPicture,
  powerPicture,
  temperaturePicture,
  throttlingPicture,
} from '../pictures/index.js';
import {fill, unavailable} from '../section.js';
import {table} from '../table.js';
import {named, short, words} from '../text.js';

const SLOWED = ['no', 'throttled', 'heavily throttled'];
const SLOWED_LEVEL = ['ok', 'warning', 'critical'];

export const thermal = {
  id: 'thermal',
  title: 'Heat and power',
  brief: ({thermal: {hottest, throttling_level: level} = {}}) => [
    [celsius(hottest?.celsius), level > 0 && SLOWED[level]].filter(Boolean).join(', ') || 'not known',
    SLOWED_LEVEL[level] === 'ok' ? '' : (SLOWED_LEVEL[level] ?? ''),
  ],
  create(body, page) {
    fill(body, page, 'thermal', 3, draw);
    body.append(
      el(
        'div',
        {class: 'pictures'},
        temperaturePicture(page),
        throttlingPicture(page),
        enginesPicture(page),
        powerPicture(page),
      ),
    );
  },
};

function draw(answer) {
  const {absent = {}} = answer;
  const level = answer.throttling_level;
  const warm = (answer.zones ?? []).filter((zone) => zone.celsius !== undefined);
  const hottest = warm[0];
  return [
    figures([
      {
        name: 'Slowed down',
        text: level === undefined ? '' : (SLOWED[level] ?? `level ${level}`),
        level: SLOWED_LEVEL[level] ?? '',
        key: 'throttling_level',
        absent,
        note: (answer.throttle_causes ?? []).map((each) => short(each)).join(', '),
      },
      {
        name: 'Hottest',
        text: celsius(hottest?.celsius),
        key: 'zones',
        absent,
        note: hottest ? `${short(hottest.zone)}${nearest(hottest)}` : '',
      },
      {name: 'Power mode', text: short(answer.power_mode ?? ''), key: 'power_mode', absent},
      {name: 'CPUs on', text: cpus(answer), key: 'cpus_online', absent},
    ]),
    (answer.slows ?? []).map((each) => el('p', {class: 'remark'}, short(each, 600))),
    (answer.board_alerts ?? []).length === 0
      ? null
      : el(
          'p',
          {class: 'quiet'},
          `The board warns, and slows nothing for it: ${answer.board_alerts
            .map((each) => short(each))
            .join(', ')}.`,
        ),
    el(
      'div',
      {class: 'columns'},
      el(
        'div',
        {},
        list('Temperatures', ZONES, warm, why(absent, 'zones'), 'Temperatures'),
        powerless(answer.zones ?? []),
      ),
      list(
        'Over-current protection',
        OVER_CURRENT,
        answer.over_current,
        why(absent, 'over_current') || why(absent, 'throttling'),
        'Over-current protection',
      ),
      list('Clocks', CLOCKS, answer.clocks, why(absent, 'clocks'), 'Clocks'),
      list('Supply rails', RAILS, answer.rails, why(absent, 'rails'), 'Supply rails'),
      list('GPU and engines', ENGINES, answer.engines, why(absent, 'engines'), 'GPU and engines'),
      cooling(answer.cooling ?? [], why(absent, 'cooling') || why(absent, 'zones')),
    ),
    answer.omitted > 0
      ? el('p', {class: 'quiet'}, `${count(answer.omitted)} more omitted.`)
      : null,
    absences(absent, [
      'throttling',
      'throttling_level',
      'zones',
      'power_mode',
      'cpus_online',
      'cpus_present',
      'clocks',
      'engines',
      'rails',
      'over_current',
      'cooling',
    ]),
  ];
}

function nearest(zone) {
  const margins = Object.entries(zone.margin_celsius ?? {}).sort((a, b) => a[1] - b[1]);
  if (margins.length === 0) return '';
  return `, ${marginText(...margins[0])}`;
}

function cpus({cpus_online: on, cpus_present: all}) {
  if (on === undefined) return '';
  return all === undefined ? count(on) : `${count(on)} of ${count(all)}`;
}

function list(caption, columns, rows, none, what) {
  if (!rows || rows.length === 0) return unavailable(what, none || 'this device reports none');
  return table(caption, columns, rows, 'small');
}

const indexed = (name, index) =>
  named(name) + (index && index !== '0' ? ` ${short(index, 20)}` : '');

const ZONES = [
  {
    name: 'Zone',
    head: true,
    of: (zone) => [
      indexed(zone.zone, zone.index),
      zone.enabled === false ? el('span', {class: 'note'}, 'switched off') : null,
    ],
  },
  {name: 'Now', kind: 'number', of: (zone) => celsius(zone.celsius)},
  {name: 'Next limits', of: (zone) => margins(zone)},
];

function margins(zone) {
  const all = Object.entries(zone.margin_celsius ?? {});
  if (all.length === 0)
    return (zone.trips ?? []).length === 0 ? 'has no limits' : 'all limits exceeded';
  return all
    .sort((a, b) => a[1] - b[1])
    .map(([kind, degrees]) =>
      el(
        'span',
        {class: `limit ${(kind === 'critical' && degrees < 5) || degrees < 0 ? 'bad' : ''}`.trim()},
        marginText(kind, degrees),
      ),
    );
}

// Zones without a temperature, by reason.
function powerless(zones) {
  const reasons = new Map();
  for (const zone of zones.filter((each) => each.celsius === undefined)) {
    const reason = why(zone.absent, 'celsius') || 'not reported by this device';
    reasons.set(reason, [...(reasons.get(reason) ?? []), indexed(zone.zone, zone.index)]);
  }
  if (reasons.size === 0) return null;
  return el(
    'ul',
    {class: 'absences'},
    [...reasons].map(([reason, names]) =>
      el('li', {}, el('b', {}, `${names.join(', ')}: not known. `), reason),
    ),
  );
}

// Most are inactive, and are only named.
function cooling(all, none) {
  if (all.length === 0) return unavailable('Cooling', none || 'this device reports none');
  const active = all.filter((each) => each.state > 0);
  const resting = all.filter((each) => !(each.state > 0));
  return el(
    'div',
    {},
    active.length > 0 ? table('Cooling and throttling in action', COOLING, active, 'small') : null,
    resting.length > 0
      ? el(
          'p',
          {class: 'quiet'},
          'Cooling and throttling at rest: ',
          resting.map((each) => indexed(each.type, each.index)).join(', '),
          '.',
        )
      : null,
  );
}

const CLOCKS = [
  {
    name: 'Clock',
    head: true,
    of: (each) => [
      named(each.clock),
      el(
        'span',
        {class: 'note'},
        words(each.domain),
        each.governor ? `, ${short(each.governor, 40)}` : '',
      ),
    ],
  },
  {name: 'Now', kind: 'number', of: (each) => hertz(each.hertz)},
  {name: 'May have', kind: 'number', of: (each) => hertz(each.max_hertz)},
  {name: 'Could have', kind: 'number', of: (each) => hertz(each.hardware_max_hertz)},
];

const BY = {kernel: 'the kernel', tegrastats: 'tegrastats', nvml: 'NVML'};

const ENGINES = [
  {
    name: 'Engine',
    head: true,
    of: (each) => [
      named(each.engine),
      each.load_source && each.load_source !== 'kernel'
        ? el('span', {class: 'note'}, `load by ${BY[each.load_source] ?? short(each.load_source, 20)}`)
        : null,
    ],
  },
  {
    name: 'Load',
    kind: 'number',
    of: (each) =>
      each.on === false
        ? 'off'
        : each.load_ratio === undefined
          ? el('span', {title: why(each.absent, 'load_ratio')}, 'not known')
          : ratio(each.load_ratio),
  },
  {name: 'Clock', kind: 'number', of: (each) => hertz(each.hertz)},
];

function hertz(value) {
  if (typeof value !== 'number') return '';
  return value >= 1e9 ? `${(value / 1e9).toFixed(2)} GHz` : `${(value / 1e6).toFixed(0)} MHz`;
}

const fixed = (key, unit) => (row) =>
  typeof row[key] === 'number' ? `${row[key] < 100 ? row[key].toPrecision(3) : Math.round(row[key])} ${unit}` : '';

const RAILS = [
  {name: 'Rail', head: true, of: (rail) => indexed(rail.rail, rail.index)},
  {name: 'Power', kind: 'number', of: fixed('watts', 'W')},
  {name: 'Voltage', kind: 'number', of: fixed('volts', 'V')},
  {name: 'Current', kind: 'number', of: fixed('amperes', 'A')},
  {
    name: 'Warns at',
    kind: 'number',
    of: (rail) =>
      rail.warning_limit_amperes === undefined
        ? ''
        : [
            fixed('warning_limit_amperes', 'A')(rail),
            ' ',
            el('span', {class: 'note'}, ratio(rail.amperes / rail.warning_limit_amperes)),
          ],
  },
];

const OVER_CURRENT = [
  {name: 'Event', head: true, of: (each) => named(each.event)},
  {name: 'Since boot', kind: 'number', of: (each) => count(each.count)},
  {
    name: 'Slows the chip',
    of: (each) => (each.throttles === undefined ? '' : each.throttles ? 'yes' : 'no, only counted'),
  },
];

const COOLING = [
  {name: 'Device', head: true, of: (each) => indexed(each.type, each.index)},
  {
    name: 'Step',
    kind: 'number',
    of: (each) =>
      count(each.state) + (each.max_state === undefined ? '' : ` of ${count(each.max_state)}`),
  },
];
