// SPDX-License-Identifier: Apache-2.0
// Stays at the top: the verdict, the device's name, its state, and which time the charts show.

import {el, update} from './dom.js';
import {duration, moment} from './format.js';
import {levelOf, sign} from './level.js';
import {short} from './text.js';
import {chooseTheme, theme, THEMES} from './theme.js';
import {timeControls} from './time_controls.js';
import {toggle} from './toggle.js';

const WORDS = {ok: 'OK', warning: 'WARNING', critical: 'CRITICAL', unknown: 'UNKNOWN'};

export function header(page, sections) {
  const word = el('a', {class: 'badge unknown', href: '#verdict'});
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
  const verdict = () => {
    const level = page.device.state.is === 'live' ? levelOf(known.status?.level) : 'unknown';
    word.className = `badge ${level}`;
    update(word, sign(level), WORDS[level]);
    document.getElementById('icon')?.setAttribute('href', `/page/icon-${level}.svg`);
    document.title = `${WORDS[level]}: ${nameOf(known.status)} - jetmem`;
  };
  page.device.watch('status', 3, (status) => {
    if (!status) return;
    known.status = status;
    const {host_name: host, model} = status.device ?? {};
    update(
      name,
      el('span', {class: 'host'}, short(host || model || 'Unknown device model', 90)),
      host ? el('span', {class: 'model'}, ' ', short(model || 'Unknown device model', 90)) : null,
    );
    verdict();
    draw();
  });
  page.device.addEventListener('state', verdict);
  page.device.watch('history?limit=1', 300, (past, error) => {
    // The previous clock notice stays while the request is refused.
    known.past = past ?? known.past;
    known.noPast = error?.why;
    draw();
  });
  verdict();
  const more = menu(facts, sections);
  const times = timeControls(page);
  return [
    el('div', {class: 'who'}, word, name, connection(page), more.button),
    times.node,
    more.panel,
    times.panel,
  ];
}

const nameOf = (status) =>
  short(status?.device?.host_name || status?.device?.model || 'device', 90);

// A button and what it shows: the theme, facts about the device, links to the parts of the page.
function menu(facts, sections) {
  const panel = el(
    'div',
    {class: 'panel', id: 'menu', hidden: true},
    themes(),
    facts,
    el(
      'nav',
      {'aria-label': 'Parts of this page'},
      sections.map((each) => el('a', {href: `#${each.id}`}, each.inShort ?? each.title)),
    ),
  );
  const button = el(
    'button',
    {
      type: 'button',
      class: 'plain',
      'aria-expanded': 'false',
      'aria-controls': 'menu',
      onclick: () => toggle(button, panel),
    },
    'Menu',
  );
  panel.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    toggle(button, panel);
    button.focus();
  });
  panel.addEventListener('click', (event) => event.target.closest('a') && toggle(button, panel));
  return {button, panel};
}

function factsOf({status, past, noPast}) {
  if (!status) return [];
  const {device = {}, from = {}} = status;
  return [
    ['Model', short(device.model || 'not known', 90)],
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
