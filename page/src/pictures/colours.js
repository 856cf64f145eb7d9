// SPDX-License-Identifier: Apache-2.0
// Colours of the charts from the style sheet, which a canvas cannot use directly. Each theme has
// its own set.

const listeners = new Set();
let known = null;

function read() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return {
    ink: of('--ink') || '#000',
    quiet: of('--quiet') || '#555',
    grid: of('--grid') || of('--line') || '#ccc',
    paper: of('--paper') || '#fff',
    nothing: of('--nothing') || '#888',
    restart: of('--restart') || '#555',
    lines: Array.from({length: 8}, (_, i) => of(`--line-${i + 1}`) || '#06c'),
    areas: Array.from({length: 6}, (_, i) => of(`--area-${i + 1}`) || '#9ab'),
    heat: of('--heat').split(/\s+/).filter(Boolean),
    severity: {
      info: of('--quiet') || '#555',
      warning: of('--warning') || '#850',
      error: of('--critical') || '#b00',
      critical: of('--critical') || '#b00',
    },
  };
}

export function colours() { return known ??= read(); }

// Calls again() when the colours change, until the returned function is called.
export function onColours(again) {
  listeners.add(again);
  return () => listeners.delete(again);
}

function changed() {
  known = null;
  for (const again of listeners) again();
}

document.addEventListener('theme', changed);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
matchMedia('(prefers-contrast: more)').addEventListener('change', changed);

// A colour with this opacity: '#aabbcc' -> a canvas colour.
export function faint(colour, part) {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour);
  if (!hex) return colour;
  return `rgba(${hex.slice(1).map((each) => parseInt(each, 16)).join(', ')}, ${part})`;
}
