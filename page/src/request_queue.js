// SPDX-License-Identifier: Apache-2.0
// The device answers one query of the history at a time and refuses others meanwhile. So they are
// sent one after the other.

const AT_DESK = /^\/api\/v1\/(status|doctor|cma|now|history|events)\b/;
const IS_STATUS = /^\/api\/v1\/status\b/;
// Milliseconds that the status waits for its turn. After that it may be less complete, but it is
// never late.
const STATUS_WAITS = 1500;

const waiting = [];
let taken = false;

// Waits until this request may be sent. Returns leave(), to call when its answer has begun. The
// status precedes all others and does not wait for long.
export function turn(path) {
  if (!AT_DESK.test(path)) return Promise.resolve(() => {});
  return new Promise((mine) => {
    if (IS_STATUS.test(path)) {
      waiting.unshift(mine);
      setTimeout(() => goUncalled(mine), STATUS_WAITS);
    } else {
      waiting.push(mine);
    }
    callNext();
  });
}

function callNext() {
  if (taken || waiting.length === 0) return;
  taken = true;
  let left = false;
  waiting.shift()(() => {
    if (left) return;
    left = true;
    taken = false;
    callNext();
  });
}

function goUncalled(mine) {
  const at = waiting.indexOf(mine);
  if (at < 0) return;
  waiting.splice(at, 1);
  mine(() => {});
}
