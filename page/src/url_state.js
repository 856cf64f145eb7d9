// SPDX-License-Identifier: Apache-2.0
// The reader's choices, after the '#' of the address: they survive a reload, can be sent to
// somebody else, and are stored nowhere else.

function read() {
  return new URLSearchParams(location.hash.startsWith('#?') ? location.hash.slice(2) : '');
}

export function chosen(name) {
  return read().get(name);
}

export function choose(name, value) {
  const all = read();
  if (value === null) all.delete(name);
  else all.set(name, value);
  const text = all.toString();
  history.replaceState(history.state, '', text ? `#?${text}` : location.pathname + location.search);
}
