// SPDX-License-Identifier: Apache-2.0
// Which time the charts show: the last minutes to days, or from one moment to another.

import {el, update} from './dom.js';
import {RANGES} from './ranges.js';
import {toggle} from './toggle.js';
import {stepsTaken} from './url_state.js';

const two = (value) => String(value).padStart(2, '0');

// As <input type="datetime-local"> has it, in the reader's time zone.
function localText(seconds) {
  const date = new Date(seconds * 1000);
  return (
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}` +
    `T${two(date.getHours())}:${two(date.getMinutes())}`
  );
}

const SPOKEN = {m: 'minutes', h: 'hours', d: 'days'};
const spoken = ({name}) => `${name}: the last ${parseInt(name, 10)} ${SPOKEN[name.at(-1)]}`;

// {node: the row of buttons, panel: the fields for two moments}
export function timeControls(page) {
  const ranges = RANGES.map((range) =>
    el(
      'button',
      {type: 'button', 'aria-label': spoken(range), onclick: () => page.chooseRange(range)},
      range.name,
    ),
  );
  // The same on a phone, where the buttons leave no room for those that move.
  const select = el(
    'select',
    {
      'aria-label': 'Time range of the charts',
      onchange: () => page.chooseRange(RANGES.find(({name}) => name === select.value) ?? null),
    },
    el('option', {value: '', hidden: true}, '\u2026'),
    RANGES.map(({name}) => el('option', {value: name}, name)),
  );
  const sign = (text, label, onclick) =>
    el('button', {type: 'button', 'aria-label': label, title: label, onclick}, text);
  const back = sign('\u21a9', 'Back to the time shown before', () => page.stepBack());
  const later = sign('\u25b6', 'Later', () => page.shift(0.5));
  const chosen = span(page);
  const mark = () => {
    ranges.forEach((button, i) =>
      button.setAttribute('aria-pressed', String(RANGES[i] === page.range)),
    );
    select.value = page.range.to === undefined ? page.range.name : '';
    back.disabled = stepsTaken() === 0;
    later.disabled = page.range.to === undefined;
    chosen.mark();
  };
  mark();
  page.addEventListener('range', mark);
  const node = el(
    'div',
    {class: 'times'},
    el('div', {class: 'buttons ranges', role: 'group', 'aria-label': 'Time range of the charts'}, ranges),
    select,
    el(
      'div',
      {class: 'buttons', role: 'group', 'aria-label': 'Move in time'},
      back,
      sign('\u25c0', 'Earlier', () => page.shift(-0.5)),
      chosen.button,
      later,
      sign('\u2212', 'Zoom out', () => page.zoomOut()),
    ),
  );
  return {node, panel: chosen.panel};
}

// "02:00 to 03:00": what is shown, and fields to say it.
function span(page) {
  const from = el('input', {type: 'datetime-local', required: true});
  const to = el('input', {type: 'datetime-local', required: true});
  const trouble = el('span', {class: 'bad'});
  const secondsOf = (input) => new Date(input.value).getTime() / 1000;
  const show = () => {
    const isGood = secondsOf(to) > secondsOf(from);
    update(trouble, isGood ? '' : 'The end must be after the beginning.');
    if (!isGood) return;
    toggle(button, panel);
    page.show(secondsOf(from), secondsOf(to));
  };
  const panel = el(
    'div',
    {
      class: 'panel',
      id: 'span',
      hidden: true,
      onkeydown: (event) => {
        if (event.key === 'Enter' && event.target.matches('input')) show();
        if (event.key !== 'Escape') return;
        toggle(button, panel);
        button.focus();
      },
    },
    el('label', {}, 'From ', from),
    el('label', {}, 'to ', to),
    el('button', {type: 'button', class: 'plain', onclick: show}, 'Show'),
    trouble,
  );
  const button = el('button', {
    type: 'button',
    class: 'span',
    'aria-expanded': 'false',
    'aria-controls': 'span',
    title: 'Choose the beginning and the end',
    onclick: () => {
      const end = page.range.to ?? page.device.time();
      from.value = localText(end - page.range.seconds);
      to.value = localText(end);
      toggle(button, panel);
      if (!panel.hidden) from.focus();
    },
  });
  const mark = () => {
    const isFixed = page.range.to !== undefined;
    button.setAttribute('aria-pressed', String(isFixed));
    update(button, isFixed ? page.range.text : 'From \u2026 to');
  };
  return {button, panel, mark};
}
