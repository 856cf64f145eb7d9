// SPDX-License-Identifier: Apache-2.0
// Sanitises untrusted text. dom.js keeps it from becoming markup.
//
// Names of processes, devices and buffers are untrusted. Characters that
// turn the direction of writing around, show nothing, or put marks on their neighbours make one
// name look like another: each is shown by its number.

// Controls; soft hyphen; Arabic letter mark; Hangul and Khmer fillers; zero width and direction
// marks; line and paragraph separators; embeddings, overrides and isolates; invisible operators;
// byte order mark; interlinear annotation; tags.
const HIDDEN = new RegExp(
  '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u17b4\\u17b5' +
    '\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff' +
    '\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]' +
    '|\\p{Surrogate}',
  'gu',
);

// Marks on a letter, up to as many as a language uses; more would cover neighbouring lines.
const PILED = /(\p{M}{4})\p{M}+/gu;

const numbered = (character) =>
  `\u27e8U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}\u27e9`;

export function plain(text) {
  return String(text).replace(HIDDEN, numbered).replace(PILED, '$1\u2026');
}

// At most so many characters, and the original number.
export function short(text, most = 80) {
  const all = [...plain(text ?? '')];
  if (all.length <= most) return all.join('');
  return `${all.slice(0, most).join('')}\u2026 (${all.length.toLocaleString('en')} characters)`;
}

// An untrusted name, which may be empty.
export function named(text, most = 80) {
  return short(text, most).trim() || '(no name)';
}

// A word from a list that may grow: 'held_by_none' -> 'held by none'.
export function words(text) {
  return short(String(text ?? '').replaceAll('_', ' '), 60);
}
