// SPDX-License-Identifier: Apache-2.0
// Light or dark: the system's setting, unless chosen here.

import {choose, chosen} from './url_state.js';

export const THEMES = ['auto', 'light', 'dark'];

export function theme() {
  const name = chosen('theme');
  return THEMES.includes(name) ? name : 'auto';
}

// The style sheet does the rest. Canvases listen for 'theme' on the document.
export function applyTheme() {
  const root = document.documentElement;
  const before = root.dataset.theme ?? 'auto';
  if (theme() === 'auto') delete root.dataset.theme;
  else root.dataset.theme = theme();
  if (before !== theme()) document.dispatchEvent(new Event('theme'));
}

export function chooseTheme(name) {
  choose('theme', name === 'auto' ? null : name);
  applyTheme();
}

export function watchTheme() {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
    document.dispatchEvent(new Event('theme')),
  );
}
