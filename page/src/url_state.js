// SPDX-License-Identifier: Apache-2.0
// The reader's choices, after the '#' of the address: they survive a reload, can be sent to
// somebody else, and are stored nowhere else.

function read() {
  return new URLSearchParams(location.hash.startsWith('#?') ? location.hash.slice(2) : '');
}

export function chosen(name) {
  return read().get(name);
}

function addressWith(choices) {
  const all = read();
  for (const [name, value] of Object.entries(choices)) {
    if (value === null) all.delete(name);
    else all.set(name, value);
  }
  const text = all.toString().replaceAll('%2C', ',');
  return text ? `#?${text}` : location.pathname + location.search;
}

export function choose(name, value) {
  history.replaceState(history.state, '', addressWith({[name]: value}));
}

// A step that the browser's Back returns from.
export function goTo(choices) {
  history.pushState({steps: stepsTaken() + 1}, '', addressWith(choices));
}

// How many of them Back would return from.
export function stepsTaken() {
  return history.state?.steps ?? 0;
}
