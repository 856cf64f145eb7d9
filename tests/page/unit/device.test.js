// SPDX-License-Identifier: Apache-2.0
import {Device, labelsOf} from '../../../page/src/device.js';
import {equal, test} from './check.js';

const labels = (key) => ({...labelsOf(key)});

test('labelsOf: none', () => equal(labels('jetmem_memory_available_ratio'), {}));
test('labelsOf: some', () => equal(labels('a{b="c",d="e f"}'), {b: 'c', d: 'e f'}));
test('labelsOf: what is escaped', () =>
  equal(labels('a{b="say \\"hi\\"",c="back\\\\slash",d="two\\nlines"}'),
        {b: 'say "hi"', c: 'back\\slash', d: 'two\nlines'}));
test('labelsOf: braces, commas and equal signs in a value', () =>
  equal(labels('a{b="x{y=\\"1\\"},z",c=""}'), {b: 'x{y="1"},z', c: ''}));
test('labelsOf: markup stays text', () =>
  equal(labels('a{b="<img src=x onerror=alert(1)>"}'), {b: '<img src=x onerror=alert(1)>'}));
test('labelsOf: names of an object are no trap', () => {
  const found = labelsOf('a{__proto__="x",constructor="y",toString="z"}');
  equal([found.__proto__, found.constructor, found.toString], ['x', 'y', 'z']);
  equal({}.x, undefined);
  equal(labelsOf('a').toString, undefined);
});
test('labelsOf: direction controls are shown by number', () =>
  equal(labels('a{b="x\u202egpj"}'), {b: 'x\u27e8U+202E\u27e9gpj'}));
test('labelsOf: what is cut off ends', () => equal(labels('a{b="c",d="e'), {b: 'c'}));

// A fetch of the test's own, for as long as `run` takes.
async function asked(answer, run) {
  const before = globalThis.fetch;
  const paths = [];
  globalThis.fetch = async (path, options) => {
    paths.push(path);
    return answer(path, paths.length, options);
  };
  try {
    await run();
  } finally {
    globalThis.fetch = before;
  }
  return paths;
}

const json = (value, status = 200) => new Response(JSON.stringify(value), {status});

test('past: points by name', async () => {
  const answer = {all_series: [{key: 'm{a="b"}', counter: false,
                                  segments: [{resolution: 'raw', points: [[10, 5, 1, true, 1, 7, 8, 9]]}]}]};
  await asked(() => json(answer), async () => {
    const [{key, labels, counter, points}, ...others] = await new Device().past('m', -600, 0);
    equal([key, labels, counter, points.length, others], ['m{a="b"}', {a: 'b'}, false, 1, []]);
    const {time, boot, count, min, average, max} = points[0];
    equal([time, boot, count, min, average, max], [10, 1, 1, 7, 8, 9]);
  });
});

test('time: that of the history, where it is ahead of the device', async () => {
  const now = () => Date.now() / 1000;
  const device = new Device();
  const after = async (ahead) => {
    await asked(() => json({from: {time: now() + ahead}, all_series: []}), () => device.past('m', -600));
    return Math.round((device.time() - now()) / 10) * 10;
  };
  equal([await after(172800), await after(5), await after(-600)], [172800, 0, 0]);
});

test('past: one question after the other', async () => {
  let open = 0;
  let most = 0;
  const slow = async () => {
    most = Math.max(most, ++open);
    await new Promise((done) => setTimeout(done, 20));
    --open;
    return json({all_series: []});
  };
  const device = new Device();
  const paths = await asked(slow, () => Promise.all(['a', 'b', 'c'].map((m) => device.past(m, -600, 60))));
  equal(most, 1);
  equal(paths, ['a', 'b', 'c'].map((m) => `/api/v1/history?metric=${m}&from=-600&step=60`));
});

test('past: asks again where the device says later, and gives what came then', async () => {
  const answer = (path, time) => (time === 1 ? json({error: 'too many'}, 429) : json({all_series: []}));
  const paths = await asked(answer, async () => equal((await new Device().past('m', -600)).length, 0));
  equal(paths.length, 2);
});

test('past: a question that failed does not block the next', async () => {
  const answer = (path, time) => (time === 1 ? json({error: 'broken'}, 500) : json({all_series: []}));
  await asked(answer, async () => {
    const device = new Device();
    let why = '';
    await device.past('m', -600).catch((error) => (why = error.why));
    equal(why, 'broken');
    equal((await device.past('m', -600)).length, 0);
  });
});

test('watch: an answer that cannot be read is no answer', async () => {
  const answers = [];
  await asked(() => new Response('{"half":'), async () => {
    const device = new Device();
    device.watch('status', 3600, (answer, error) => answers.push([answer, error?.why]));
    device.again();
    await new Promise((done) => setTimeout(done, 50));
  });
  equal(answers, [[null, 'the answer cannot be read']]);
});

test('watch: a daemon that stalls differs from one that is gone', async () => {
  const states = [];
  const device = new Device();
  device.addEventListener('state', (event) => states.push(event.detail.is));
  let kind = 'live';
  const answer = () => {
    if (kind === 'gone') throw new TypeError('refused');
    return kind === 'live' ? json({}) : json({error: 'sampling has stopped'}, 503);
  };
  await asked(answer, async () => {
    device.watch('status', 0, () => {});
    for (kind of ['live', 'stalled', 'live', 'gone', 'live']) {
      device.again();
      await new Promise((done) => setTimeout(done, 30));
    }
  });
  equal(states, ['live', 'stalled', 'live', 'silent', 'live']);
});

const soon = () => new Promise((done) => setTimeout(done, 30));

// What a device became while `answer(path)` answers each of the looks; `begin` and `end` see it.
async function became(answer, looks, end = () => {}) {
  const states = [];
  let back = 0;
  const device = new Device();
  device.addEventListener('state', (event) => states.push(event.detail.is));
  device.addEventListener('back', () => ++back);
  await asked((path, n) => answer(path, n), async () => {
    for (const name of ['status', 'thermal']) device.watch(name, 0, () => {});
    for (let i = 0; i < looks; ++i) {
      device.again();
      await soon();
    }
    await end(device);
  });
  return {states, back};
}

test('state: one name that is always lost says nothing of the device', async () => {
  const found = await became((path) => {
    if (path.includes('thermal')) throw new TypeError('blocked');
    return json({});
  }, 5);
  equal(found, {states: ['live'], back: 0});
});

test('state: a lost status, while others are answered, does not mean that nobody answers', async () => {
  let live = true;
  const found = await became((path) => {
    if (!live && path.includes('status')) throw new TypeError('blocked');
    return json({});
  }, 1, async (device) => {
    live = false;
    device.again();
    await soon();
    equal(device.state.is, 'live');
    // What is this old is not shown as of now.
    device.judge(performance.now() + 11000);
    equal(device.state.is, 'live');
    device.judge(performance.now() + 13000);
    equal(device.state.is, 'stalled');
    equal(/^no status since .*\d\d:\d\d:\d\d \(the connection failed\)$/.test(device.state.why), true);
    live = true;
    device.again();
    await soon();
    equal(device.state.is, 'live');
  });
  // Away for a moment: nothing is drawn anew.
  equal(found, {states: ['live', 'stalled', 'live'], back: 0});
});

test('state: nobody answers where the status is lost twice, and all others in between', async () => {
  let live = true;
  const found = await became(() => {
    if (!live) throw new TypeError('refused');
    return json({});
  }, 1, async (device) => {
    live = false;
    device.again();
    await soon();
    equal(device.state.is, 'live');
    device.again();
    await soon();
    equal(device.state.is, 'silent');
  });
  equal(found.states, ['live', 'silent']);
});

test('state: a status that is refused makes the verdict old, too', async () => {
  let live = true;
  const found = await became(
    (path) => (live || !path.includes('status') ? json({}) : json({error: 'too many'}, 429)), 1,
    async (device) => {
      live = false;
      device.again();
      await soon();
      device.judge(performance.now() + 13000);
    });
  equal(found.states, ['live', 'stalled']);
});

test('desk: the status does not wait behind slow questions', async () => {
  const begin = performance.now();
  const at = {};
  await asked(async (path) => {
    at[path] = performance.now() - begin;
    if (path.includes('status')) return json({});
    await new Promise((done) => setTimeout(done, 2500));
    return json({all_series: []});
  }, async () => {
    const device = new Device();
    const slow = [device.past('m', -600), device.events({})];
    await soon();
    device.watch('status', 3600, () => {});
    device.again();
    await Promise.all(slow);
  });
  if (!(at['/api/v1/status'] < 2000)) throw new Error(JSON.stringify(at));
});

test('watch: what is known is not sent again', async () => {
  const tags = [];
  const taken = [];
  const answer = (path, time, {headers}) => {
    tags.push(headers['If-None-Match'] ?? '');
    if (time < 3) return new Response(time === 1 ? '{"n":1}' : null, {status: time === 1 ? 200 : 304, headers: {ETag: '"1"'}});
    return new Response('{"n":2}', {headers: {ETag: '"2"'}});
  };
  const device = new Device();
  await asked(answer, async () => {
    device.watch('status', 0, ({n}) => taken.push(n));
    for (let i = 0; i < 3; ++i) {
      device.again();
      await new Promise((done) => setTimeout(done, 30));
    }
  });
  equal(tags, ['', '"1"', '"1"']);
  equal(taken, [1, 2]);
  equal(device.state.is, 'live');
  equal(device.latest('status'), {n: 2});
});

test('watch: the same answer again is heard, too', async () => {
  const device = new Device();
  equal(device.heard('cma'), 0);
  const heard = [];
  await asked((path, time) => (time === 1 ? new Response('{}', {headers: {ETag: '"1"'}}) :
                               time === 2 ? new Response(null, {status: 304}) : json({}, 500)),
              async () => {
    device.watch('cma', 0, () => {});
    for (let i = 0; i < 3; ++i) {
      device.again();
      await new Promise((done) => setTimeout(done, 30));
      heard.push(device.heard('cma'));
    }
  });
  equal([heard[1] > heard[0], heard[2] === heard[1]], [true, true]);
});

test('watch: nothing is asked that nobody wants', async () => {
  const device = new Device();
  let wants = false;
  const look = async () => {
    device.again();
    await new Promise((done) => setTimeout(done, 20));
  };
  const paths = await asked(() => json({}), async () => {
    device.watch('cma', 5, () => {}, () => wants);
    await look();
    wants = true;
    await look();
  });
  equal(paths, ['/api/v1/cma']);
});

test('page: as text, and not waited for without end', async () => {
  const device = new Device();
  let signal = null;
  await asked((path, time, options) => {
    signal = options.signal;
    return path.includes('none') ? new Response('no such page\n', {status: 404}) : new Response('<main>');
  }, async () => {
    equal(await device.page('/runbooks/a'), '<main>');
    equal(await device.page('/runbooks/none').catch(({status, why}) => [status, why]), [404, 'no such page']);
  });
  equal(signal instanceof AbortSignal, true);
});
