// SPDX-License-Identifier: Apache-2.0
// The device's state and its reason, first on the page.

import {el, update} from '../dom.js';
import {moment} from '../format.js';
import {levelOf, sign} from '../level.js';
import {short} from '../text.js';

const WORDS = {ok: 'OK', warning: 'WARNING', critical: 'CRITICAL', unknown: 'UNKNOWN'};

export const verdict = {
  id: 'verdict',
  title: 'Verdict',
  create(body, page) {
    const seen = el('div', {class: 'now'});
    // Announced when the level changes, not each time a number in the sentence does.
    const announcement = el('p', {class: 'unseen', role: 'status'});
    body.append(seen, announcement);
    let last = null;
    let lastLevel = '';
    let story = null;

    const draw = () => {
      const {is} = page.device.state;
      const level = is === 'live' && last ? wordOf(last.level) : 'unknown';
      const reason =
        is === 'live' && last
          ? short(last.reason || 'No reason reported.', 1000)
          : withoutAnswer(page.device.state, last);
      update(
        seen,
        el(
          'div',
          {class: `verdict ${level}`},
          sign(level),
          el(
            'p',
            {},
            el('b', {}, WORDS[level]),
            ' ',
            reason,
            is === 'live' && story && tells(level, story)
              ? [' ', el('span', {class: 'story'}, short(story.conclusion, 1000))]
              : null,
          ),
        ),
        is === 'live' && last ? rows(last) : null,
      );
      if (level !== lastLevel) update(announcement, `${WORDS[level]}: ${reason}`);
      // A change of level: fetch the reason at once.
      if (lastLevel && level !== lastLevel) for (const each of ['alerts', 'doctor']) page.device.soon(each);
      lastLevel = level;
    };
    page.device.watch('status', 2, (status) => {
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

// The culprit and the time in one sentence, where the doctor concerns the same trouble.
const tells = (level, story) =>
  level !== 'ok' && level !== 'unknown' && levelOf(story.verdict) === level && story.conclusion;

const wordOf = (level) => (WORDS[level] && level === levelOf(level) ? level : 'unknown');

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
