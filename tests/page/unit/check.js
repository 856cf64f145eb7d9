// SPDX-License-Identifier: Apache-2.0
// The least that a test needs: a name, what must be equal, and a list of what went wrong.

const tests = [];

export function test(name, run) {
  tests.push({name, run});
}

export function equal(found, expected) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) throw new Error(`found ${a}, expected ${b}`);
}

export async function results() {
  const out = [];
  for (const {name, run} of tests) {
    let trouble = null;
    try {
      await run();
    } catch (error) {
      trouble = String(error.stack ?? error);
    }
    out.push({name, trouble});
  }
  return out;
}
