// SPDX-License-Identifier: Apache-2.0
// The device's state, its reason and what to do, first on the page.

import {copyable} from '../copyable.js';
import {el, update} from '../dom.js';
import {duration, moment} from '../format.js';
import {levelOf, sign} from '../level.js';
import {runbookButton} from '../runbook.js';
import {short} from '../text.js';

const WORDS = {ok: 'OK', warning: 'WARNING', critical: 'CRITICAL', unknown: 'UNKNOWN'};

export const verdict = {
  id: 'verdict',
  title: 'Verdict',
  create(body, page) {
    const seen = el('div', {class: 'hero'});
    // Announced when the level changes, not each time a number in the sentence does.
    const announcement = el('p', {class: 'unseen', role: 'status'});
    body.append(seen, announcement);
    let last = null;
    let lastLevel = '';
    let story = null;

    const draw = () => {
      const {is} = page.device.state;
      const isKnown = is === 'live' && last;
      const level = isKnown ? wordOf(last.level) : 'unknown';
      const reason = isKnown
        ? short(last.reason || 'No reason reported.', 1000)
        : withoutAnswer(page.device.state, last);
      update(
        seen,
        el(
          'div',
          {class: `verdict ${level}`},
          sign(level),
          el(
            'div',
            {},
            el('p', {}, el('b', {}, WORDS[level]), ' ', reason),
            isKnown ? since(last) : null,
            isKnown && story && tells(level, story)
              ? el('p', {class: 'story'}, short(story.conclusion, 1000))
              : null,
          ),
        ),
        isKnown ? action(page, last, level) : null,
        isKnown ? rows(last) : null,
      );
      if (level !== lastLevel) update(announcement, `${WORDS[level]}: ${reason}`);
      // A change of level: fetch the reason at once.
      if (lastLevel && level !== lastLevel) for (const each of ['alerts', 'doctor']) page.device.soon(each);
      lastLevel = level;
    };
    page.device.watch('status', 3, (status) => {
      if (status) last = status;
      draw();
    });
    page.device.watch('doctor', 30, (answer) => {
      story = answer;
      draw();
    });
    page.device.addEventListener('state', draw);
  },
};

// Who and since when, as the history tells it, where it is of the same trouble.
const tells = (level, story) =>
  level !== 'ok' && level !== 'unknown' && levelOf(story.level) === level && story.conclusion;

const wordOf = (level) => (WORDS[level] && level === levelOf(level) ? level : 'unknown');

function since({since_seconds: seconds, who, from = {}}) {
  const parts = [];
  if (typeof seconds === 'number') {
    const begin = from.time === undefined ? '' : ` ${moment(from.time - seconds)}`;
    parts.push(begin ? `Since${begin} (${duration(seconds)})` : `For ${duration(seconds)}`);
  }
  if (who?.name) parts.push(`${short(who.role, 40)}: ${short(who.name, 80)}`);
  const text = parts.join('; ');
  return text ? el('p', {class: 'since'}, `${text.charAt(0).toUpperCase()}${text.slice(1)}.`) : null;
}

// What to do about it, and the command to begin with.
function action(page, status, level) {
  const worst = (status.alerts?.alerts ?? []).find(({alert}) => alert === status.alert);
  const command = short(status.next_command ?? '', 300);
  const remedy = short(status.remedy ?? '', 500);
  const act = short(status.act ?? '', 300);
  if (!command && !remedy) return null;
  return el(
    'div',
    {class: 'action'},
    el(
      'div',
      {class: 'bar-of-action'},
      el('h3', {}, level === 'ok' ? 'To look closer' : 'Do this'),
      worst ? runbookButton(page, worst.runbook, worst) : null,
    ),
    command ? copyable(command) : null,
    remedy ? el('p', {}, remedy) : null,
    act ? el('p', {class: 'act'}, 'An act, which jetmem never runs: ', copyable(act)) : null,
  );
}

// The last verdict may be out of date.
function withoutAnswer(state, last) {
  if (state.is === 'asking' || (state.is === 'live' && !last)) return 'Asking the device\u2026';
  const now =
    state.is === 'stalled'
      ? `The daemon answers, but without a status: ${short(state.why, 300)}.`
      : `No answer: ${short(state.why, 300)}.`;
  if (!last) return now;
  return (
    `${now} Last heard${last.from?.time ? ` at ${moment(last.from.time)}` : ''}: ` +
    `${WORDS[wordOf(last.level)]}, ${short(last.reason ?? '', 1000)}`
  );
}

// The device's remarks on this answer.
function rows(status) {
  const notes = status.from?.notes ?? [];
  if (notes.length === 0) return null;
  return el(
    'ul',
    {class: 'notes'},
    notes.map((note) => el('li', {}, short(note, 400))),
  );
}
