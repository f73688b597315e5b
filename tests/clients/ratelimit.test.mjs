// The published @unkey/ratelimit, unmodified.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { MANAGER, THIRTY_DAYS, TOKENS, rejection } from './fixtures.mjs';
import { load, startSluice } from './sluice.mjs';
import { startSlowProxy } from './slow_proxy.mjs';

const { NoopRatelimit, Overrides, Ratelimit } = await load('@unkey/ratelimit');

const namespace = 'ratelimit';
let open; // asks for no token
let guarded; // asks for one

before(async () => {
  open = await startSluice();
  guarded = await startSluice({ config: TOKENS });
});
after(() => Promise.all([open.stop(), guarded.stop()]));

// A client remembers a denial until the window ends, so each test of the server takes a new one.
const client = options =>
  new Ratelimit({ rootKey: 'ignored', namespace, limit: 3, duration: '30d', baseUrl: open.url, ...options });
const overrides = () => new Overrides({ rootKey: 'ignored', baseUrl: open.url });

test('passes as often as the limit says, then denies', async () => {
  const ratelimit = client();
  const answers = [];
  for (let i = 0; i < 4; ++i) answers.push(await ratelimit.limit('alice'));

  assert.deepEqual(answers.map(answer => answer.success), [true, true, true, false]);
  assert.deepEqual(answers.map(answer => answer.remaining), [2, 1, 0, 0]);
  for (const answer of answers) {
    assert.equal(answer.limit, 3);
    assert.ok(answer.reset > Date.now() && answer.reset <= Date.now() + THIRTY_DAYS, `reset is ${answer.reset}`);
    assert.equal(answer.overrideId, undefined);
  }
});

test('a denial is remembered by the client and repeated by the server', async () => {
  const ratelimit = client({ limit: 1 });
  await ratelimit.limit('bob');
  const denial = await ratelimit.limit('bob');
  assert.equal(denial.success, false);
  assert.equal(await ratelimit.limit('bob'), denial, 'the same object, hence no request');
  assert.equal((await client({ limit: 1 }).limit('bob')).success, false);
  assert.equal((await ratelimit.limit('bobby')).success, true);
});

test('spends the cost that is asked for, all of it or nothing', async () => {
  const ask = cost => client({ limit: 10 }).limit('carol', { cost });
  assert.equal((await ask(4)).remaining, 6);
  assert.equal((await ask(4)).remaining, 2);
  assert.equal((await ask(4)).success, false);
  assert.deepEqual((({ success, remaining }) => ({ success, remaining }))(await ask(0)), { success: true, remaining: 2 });
  assert.equal((await ask(2)).remaining, 0);
  assert.equal((await ask(11)).success, false);
});

test('durations written in different ways name the same window', async () => {
  const options = { limit: 100 };
  const first = await client({ ...options, duration: '30d' }).limit('erin');
  const second = await client({ ...options, duration: THIRTY_DAYS }).limit('erin');
  const third = await client({ ...options, duration: '720 h' }).limit('erin');
  assert.deepEqual([first, second, third].map(answer => answer.remaining), [99, 98, 97]);
  assert.equal(first.reset, second.reset);
  assert.equal(first.reset, third.reset);
});

test('a limit given with the call uses the same counts; another duration has its own', async () => {
  await client().limit('frank');
  const narrow = await client().limit('frank', { limit: { limit: 2, duration: '30d' } });
  assert.deepEqual([narrow.limit, narrow.remaining], [2, 0]);
  const minute = await client().limit('frank', { limit: { limit: 5, duration: '60s' } });
  assert.equal(minute.remaining, 4);
  assert.ok(minute.reset - Date.now() <= 60000);
});

test('takes any text as identifier', async () => {
  const odd = 'ключ/"quoted"\\ \n\t\u0000 🦀';
  assert.equal((await client().limit(odd)).remaining, 2);
  assert.equal((await client().limit(odd)).remaining, 1);
  assert.equal((await client().limit(`${odd} `)).remaining, 2);
});

test('a limit of 0 denies', async () => {
  const answer = await client({ limit: 0 }).limit('zero');
  assert.deepEqual([answer.success, answer.limit, answer.remaining], [false, 0, 0]);
});

test('an override applies from the next request on, and keeps its id when it changes', async () => {
  const pattern = { namespace, identifier: 'vip_*', duration: THIRTY_DAYS };
  const set = await overrides().setOverride({ ...pattern, limit: 50 });
  assert.match(set.meta.requestId, /^req_/);
  const raised = await client().limit('vip_1');
  assert.deepEqual([raised.limit, raised.remaining, raised.overrideId], [50, 49, set.data.overrideId]);

  const again = await overrides().setOverride({ ...pattern, limit: 60 });
  assert.equal(again.data.overrideId, set.data.overrideId);
  assert.equal((await client().limit('vip_1')).remaining, 58);
  const got = await overrides().getOverride({ namespace, identifier: 'vip_*' });
  assert.deepEqual(got.data, { overrideId: set.data.overrideId, identifier: 'vip_*', limit: 60, duration: THIRTY_DAYS });
});

test('an exact override beats a pattern until it is deleted', async () => {
  const pattern = await overrides().setOverride({ namespace, identifier: 'gold_*', limit: 9, duration: THIRTY_DAYS });
  const ban = await overrides().setOverride({ namespace, identifier: 'gold_1', limit: 0, duration: THIRTY_DAYS });
  const banned = await client().limit('gold_1');
  assert.deepEqual([banned.success, banned.overrideId], [false, ban.data.overrideId]);

  const deleted = await overrides().deleteOverride({ namespace, identifier: 'gold_1' });
  assert.deepEqual(deleted.data, {});
  assert.equal((await client().limit('gold_1')).overrideId, pattern.data.overrideId);
  const gone = await rejection(overrides().getOverride({ namespace, identifier: 'gold_1' }));
  assert.deepEqual([gone.name, gone.statusCode], ['NotFoundErrorResponse', 404]);
});

test('lists overrides page by page', async () => {
  const listed = 'ratelimit-listed';
  for (const identifier of ['one', 'two'])
    await overrides().setOverride({ namespace: listed, identifier, limit: 1, duration: 1000 });
  const all = await overrides().listOverrides({ namespace: listed });
  assert.equal(all.data.length, 2);
  assert.deepEqual(all.pagination, { hasMore: false });

  const first = await overrides().listOverrides({ namespace: listed, limit: 1 });
  const { cursor } = first.pagination;
  const second = await overrides().listOverrides({ namespace: listed, limit: 1, cursor });
  assert.equal(first.pagination.hasMore, true);
  assert.deepEqual(second.pagination, { hasMore: false });
  assert.deepEqual([...first.data, ...second.data], all.data);
});

test('an error is thrown with its class, or handed to onError', async () => {
  const thrown = await rejection(client({ duration: 1 }).limit('x'));
  assert.deepEqual([thrown.name, thrown.statusCode], ['BadRequestErrorResponse', 400]);
  assert.deepEqual(thrown.error.errors.map(problem => problem.location), ['body.duration']);

  const seen = [];
  const otherwise = { success: true, limit: -1, remaining: 0, reset: 0 };
  const onError = (error, identifier) => {
    seen.push([error instanceof Error, identifier]);
    return otherwise;
  };
  assert.deepEqual(await client({ duration: 1, onError }).limit('x'), otherwise);
  assert.deepEqual(seen, [[true, 'x']]);
});

test('a server without tokens needs none', async () => {
  assert.equal((await client({ rootKey: undefined }).limit('nobody')).success, true);
});

test('a server with tokens refuses a wrong one and a missing one', async () => {
  const baseUrl = guarded.url;
  assert.equal((await client({ baseUrl, rootKey: MANAGER }).limit('x')).success, true);
  for (const rootKey of ['wrong', undefined]) {
    const refused = await rejection(client({ baseUrl, rootKey }).limit('x'));
    assert.deepEqual([refused.name, refused.statusCode], ['UnauthorizedErrorResponse', 401]);
    assert.match(refused.headers.get('www-authenticate'), /^Bearer/);
  }
});

test('a timeout yields the fallback, and the late request still counts', async () => {
  const slow = await startSlowProxy(open.url, 1500);
  const within = (ms, fallback) => client({ baseUrl: slow.url, timeout: { ms, fallback } });
  const begin = Date.now();
  const fallback = identifier => ({ success: true, limit: 0, remaining: 0, reset: 0, identifier });
  assert.equal((await within(200, fallback).limit('heidi')).identifier, 'heidi');
  assert.ok(Date.now() - begin < 1400, 'the client did not wait for the answer');

  const fixed = { success: false, limit: 7, remaining: 0, reset: 0 };
  assert.deepEqual(await within('100ms', fixed).limit('ivan'), fixed);
  assert.equal((await client().limit('heidi')).remaining, 1);
  assert.equal((await within('10s', fixed).limit('judy')).remaining, 2, 'a slow answer in time is used');
  slow.close();
});

test('the client that asks no server passes', async () => {
  assert.equal((await new NoopRatelimit().limit('x')).success, true);
});
