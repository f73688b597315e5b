// The last @unkey/ratelimit that speaks the v1 API, unmodified.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { LIMITER, TOKENS, rejection } from './fixtures.mjs';
import { load, startSluice } from './sluice.mjs';

const { Ratelimit } = await load('unkey-ratelimit-v1');

let open; // asks for no token
let guarded; // asks for a token

before(async () => {
  open = await startSluice();
  guarded = await startSluice({ config: TOKENS });
});
after(() => Promise.all([open.stop(), guarded.stop()]));

const client = options =>
  new Ratelimit({ rootKey: 'ignored', namespace: 'v1', limit: 3, duration: '30d', baseUrl: open.url, ...options });

test('passes as often as the limit says, then denies', async () => {
  const answers = [];
  for (let i = 0; i < 4; ++i) answers.push(await client().limit('alice'));
  assert.deepEqual(answers.map(({ success, limit, remaining }) => [success, limit, remaining]),
    [[true, 3, 2], [true, 3, 1], [true, 3, 0], [false, 3, 0]]);
  assert.ok(answers[0].reset > Date.now());
});

test('takes a cost, and what it has no use for', async () => {
  const answer = await client().limit('bob', {
    cost: 2, async: true, meta: { plan: 'free', trial: true }, resources: [{ type: 'project', id: 'p1', name: 'dub' }],
  });
  assert.deepEqual([answer.success, answer.remaining], [true, 1]);
});

test('shares its counts with the v2 API', async () => {
  await client().limit('carol', { cost: 3 });
  const body = JSON.stringify({ namespace: 'v1', identifier: 'carol', limit: 3, duration: 30 * 86400000 });
  const answer = await fetch(`${open.url}/v2/ratelimit.limit`,
    { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  assert.equal((await answer.json()).data.success, false);
});

test('an error has a code, a message and a request id', async () => {
  const bad = await rejection(client({ limit: -1 }).limit('dave'));
  assert.match(bad.message, /^Ratelimit failed: \[BAD_REQUEST - req_[0-9a-z]+\]: body\.limit is -1; allowed: /);
  const unknown = await rejection(client({ baseUrl: guarded.url, rootKey: 'wrong' }).limit('dave'));
  assert.match(unknown.message, /^Ratelimit failed: \[UNAUTHORIZED - req_[0-9a-z]+\]: The bearer token is not valid\.$/);
  assert.equal((await client({ baseUrl: guarded.url, rootKey: LIMITER }).limit('dave')).success, true);
});
