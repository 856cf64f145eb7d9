// Light or dark: as the reader's system has it, unless chosen here.

import {choose, chosen} from './place.js';

export const THEMES = ['auto', 'light', 'dark'];

export function theme() {
  const name = chosen('theme');
  return THEMES.includes(name) ? name : 'auto';
}

// The style sheet does the rest. What draws on a canvas listens for 'theme' on the document.
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
