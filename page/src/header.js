// SPDX-License-Identifier: Apache-2.0
// The device's name, its state, the time range of the charts, light or dark.

import {el, update} from './dom.js';
import {duration, moment} from './format.js';
import {RANGES} from './ranges.js';
import {short} from './text.js';
import {chooseTheme, theme, THEMES} from './theme.js';

export function header(page, sections) {
  const name = el('h1', {}, 'jetmem');
  const facts = el('dl', {class: 'facts'});
  const known = {};
  const draw = () =>
    update(
      facts,
      factsOf(known)
        .filter(([, text]) => text)
        .map(([key, text]) => el('div', {}, el('dt', {}, key), el('dd', {}, text))),
    );
  page.device.watch('status', 2, (status) => {
    if (!status) return;
    known.status = status;
    const model = short(status.device?.model || 'Unknown device model', 90);
    update(name, model);
    document.title = `${model} - jetmem`;
    draw();
  });
  page.device.watch('history?limit=1', 300, (past, error) => {
    // The previous clock notice stays while the request is refused.
    known.past = past ?? known.past;
    known.noPast = error?.why;
    draw();
  });
  return [
    el('div', {class: 'who'}, name, connection(page), facts),
    el('div', {class: 'choices'}, ranges(page), themes()),
    el(
      'nav',
      {'aria-label': 'Parts of this page'},
      sections.map((each) => el('a', {href: `#${each.id}`}, each.inShort ?? each.title)),
    ),
  ];
}

function factsOf({status, past, noPast}) {
  if (!status) return [];
  const {device = {}, from = {}} = status;
  return [
    ['SoC', short(device.soc || 'not known')],
    ['L4T', short(device.l4t || 'not known')],
    ['Kernel', short(device.kernel || 'not known')],
    ['Up', duration(from.since_boot_seconds) || 'not known'],
    ['Clock', clock(from, past, noPast)],
    ['jetmem', short(from.version ?? '')],
  ];
}

// A device without a battery starts in 1970 or at its last shutdown, until its clock is set.
function clock(from, past, noPast) {
  if (from.time === undefined) return 'was never set';
  const apart = Date.now() / 1000 - from.time;
  const off =
    Math.abs(apart) > 60
      ? `, ${duration(Math.abs(apart))} ${apart > 0 ? 'behind' : 'ahead of'} this browser`
      : '';
  const boot = past?.history?.boots?.find((each) => each.boot_id === from.boot_id);
  if (boot?.time_trusted === true) return `right${off}`;
  if (boot?.time_trusted === false) return `not known to be right${off}`;
  return `unknown whether it is right${noPast ? ` (${short(noPast, 120)})` : ''}${off}`;
}

function connection(page) {
  const state = el('p', {class: 'state', role: 'status'});
  const say = ({is, why, since}) => {
    document.body.dataset.device = is;
    update(
      state,
      el('span', {class: 'dot', 'aria-hidden': 'true'}),
      {
        asking: 'Asking the device\u2026',
        live: 'Live',
        stalled: `Stalled since ${moment(since)}: ${short(why, 300)}. The values below may be old.`,
        silent: `No answer since ${moment(since)}: ${short(why, 300)}. The values below are old.`,
      }[is],
    );
  };
  page.device.addEventListener('state', (event) => say(event.detail));
  say(page.device.state);
  return state;
}

function ranges(page) {
  const buttons = RANGES.map((range) =>
    el(
      'button',
      {
        type: 'button',
        onclick: () => page.chooseRange(range),
      },
      range.text,
    ),
  );
  const mark = () =>
    buttons.forEach((button, i) =>
      button.setAttribute('aria-pressed', String(RANGES[i] === page.range)),
    );
  mark();
  page.addEventListener('range', mark);
  return el(
    'div',
    {class: 'buttons', role: 'group', 'aria-label': 'Time range of the charts'},
    buttons,
  );
}

function themes() {
  const buttons = THEMES.map((each) =>
    el(
      'button',
      {
        type: 'button',
        onclick: () => {
          chooseTheme(each);
          mark();
        },
      },
      each[0].toUpperCase() + each.slice(1),
    ),
  );
  const mark = () =>
    buttons.forEach((button, i) =>
      button.setAttribute('aria-pressed', String(THEMES[i] === theme())),
    );
  mark();
  addEventListener('hashchange', mark);
  return el('div', {class: 'buttons', role: 'group', 'aria-label': 'Colours'}, buttons);
}
