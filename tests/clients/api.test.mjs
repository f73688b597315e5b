// The published @unkey/api, unmodified.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { LIMITER, MANAGER, THIRTY_DAYS, TOKENS, rejection } from './fixtures.mjs';
import { load, startSluice } from './sluice.mjs';
import { startSlowProxy } from './slow_proxy.mjs';

const { Unkey } = await load('@unkey/api');
const { HTTPClient } = await load('@unkey/api/lib/http');
const errors = await load('@unkey/api/models/errors');

const namespace = 'api';
let open; // asks for no token; requests may bring their own time
let guarded; // asks for a token

before(async () => {
  open = await startSluice({ flags: ['--test-clock'] });
  guarded = await startSluice({ config: TOKENS });
});
after(() => Promise.all([open.stop(), guarded.stop()]));

// The client drops the header of an answer; this keeps that of the latest.
let header;
const httpClient = new HTTPClient();
httpClient.addHook('response', response => { header = response.headers; });

// By default the client repeats for 10 seconds what failed.
const api = options =>
  new Unkey({ rootKey: 'ignored', serverURL: open.url, httpClient, retryConfig: { strategy: 'none' }, ...options })
    .ratelimit;
const about = (identifier, fields) => ({ namespace, identifier, limit: 3, duration: THIRTY_DAYS, ...fields });
const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

test('passes as often as the limit says, then denies with HTTP 200', async () => {
  const answers = [];
  for (let i = 0; i < 3; ++i) answers.push(await api().limit(about('alice')));
  assert.deepEqual(answers.map(({ data }) => [data.success, data.limit, data.remaining]),
    [[true, 3, 2], [true, 3, 1], [true, 3, 0]]);
  assert.equal(new Set(answers.map(({ meta }) => meta.requestId)).size, 3);
  assert.ok(answers.every(({ meta }) => meta.requestId.startsWith('req_')));
  assert.equal(header.get('content-type'), 'application/json');
  assert.equal(header.get('ratelimit-policy'), '"default";q=3;w=2592000');
  assert.match(header.get('ratelimit'), /^"default";r=0;t=[1-9]\d*$/);
  assert.equal(header.has('retry-after'), false);

  const denial = await api().limit(about('alice'));
  assert.deepEqual([denial.data.success, denial.data.remaining], [false, 0]);
  assert.match(header.get('retry-after'), /^[1-9]\d*$/);
});

test('Prefer: status=429 turns a denial into that status, with the decision as body', async () => {
  const refused = await rejection(api().limit(about('bob', { limit: 0 }), { headers: { prefer: 'status=429' } }));
  assert.ok(refused instanceof errors.APIError);
  assert.equal(refused.statusCode, 429);
  assert.equal(JSON.parse(refused.body).data.success, false);
});

test('spends the cost that is asked for, all of it or nothing', async () => {
  const ask = async cost => (await api().limit(about('carol', { cost }))).data;
  assert.equal((await ask(2)).remaining, 1);
  assert.equal((await ask(2)).success, false);
  assert.equal((await ask(0)).remaining, 1);
  assert.equal((await ask(1)).remaining, 0);

  const all = { limit: Number.MAX_SAFE_INTEGER, cost: Number.MAX_SAFE_INTEGER };
  const { data } = await api().limit(about('dave', all));
  assert.deepEqual([data.success, data.limit, data.remaining], [true, Number.MAX_SAFE_INTEGER, 0]);
});

test('of 200 requests at once exactly the limit passes', async () => {
  const answers = await Promise.all(times(200, () => api().limit(about('crowd', { limit: 50 }))));
  assert.equal(answers.filter(({ data }) => data.success).length, 50);
});

test('multiLimit spends all or nothing and returns each result', async () => {
  const { data } = await api().multiLimit([about('m1'), about('m2', { limit: 5, cost: 2 }), about('m1')]);
  assert.equal(data.passed, true);
  assert.deepEqual(data.limits.map(item => [item.namespace, item.identifier, item.passed, item.limit, item.remaining]),
    [[namespace, 'm1', true, 3, 2], [namespace, 'm2', true, 5, 3], [namespace, 'm1', true, 3, 1]]);

  const failed = (await api().multiLimit([about('m1'), about('m2', { limit: 5, cost: 4 })])).data;
  assert.equal(failed.passed, false);
  assert.deepEqual(failed.limits.map(item => item.passed), [true, false]);
  assert.equal((await api().limit(about('m1', { cost: 0 }))).data.remaining, 1);
});

test('multiLimit takes 1 to 100 items', async () => {
  const full = await api().multiLimit(times(100, i => about(`full${i}`)));
  assert.deepEqual([full.data.passed, full.data.limits.length], [true, 100]);
  for (const count of [0, 101])
    assert.ok(await rejection(api().multiLimit(times(count, i => about(`full${i}`)))) instanceof errors.BadRequestErrorResponse);
});

test('multiLimit names every problem with the place of its item', async () => {
  const refused = await rejection(api().multiLimit([about('a'), about('b', { duration: 1, limit: -1 }), about('')]));
  assert.ok(refused instanceof errors.BadRequestErrorResponse);
  assert.deepEqual(refused.error.errors.map(problem => problem.location).sort(),
    ['body[1].duration', 'body[1].limit', 'body[2].identifier']);
});

test('overrides can be set, read, applied, deleted and set again', async () => {
  const identifier = 'vip';
  const set = await api().setOverride({ namespace, identifier, limit: 100, duration: THIRTY_DAYS });
  const { overrideId } = set.data;
  const again = await api().setOverride({ namespace, identifier, limit: 104, duration: THIRTY_DAYS });
  assert.equal(again.data.overrideId, overrideId);
  const got = await api().getOverride({ namespace, identifier });
  assert.deepEqual(got.data, { overrideId, identifier, limit: 104, duration: THIRTY_DAYS });

  const single = await api().limit(about(identifier));
  assert.deepEqual([single.data.limit, single.data.overrideId], [104, overrideId]);
  const batch = await api().multiLimit([about(identifier), about('plain')]);
  assert.deepEqual(batch.data.limits.map(item => item.overrideId), [overrideId, undefined]);

  assert.deepEqual((await api().deleteOverride({ namespace, identifier })).data, {});
  assert.equal((await api().limit(about(identifier))).data.overrideId, undefined);
  assert.ok(await rejection(api().getOverride({ namespace, identifier })) instanceof errors.NotFoundErrorResponse);
  assert.ok(await rejection(api().deleteOverride({ namespace, identifier })) instanceof errors.NotFoundErrorResponse);
  await api().setOverride({ namespace, identifier, limit: 7, duration: 60000 });
  assert.equal((await api().getOverride({ namespace, identifier })).data.limit, 7);
});

test('listOverrides leads through all pages, each override once', async () => {
  const listed = 'api-listed';
  const ids = new Map();
  for (let i = 0; i < 25; ++i) {
    const set = await api().setOverride({ namespace: listed, identifier: `o${i}`, limit: i, duration: THIRTY_DAYS });
    ids.set(`o${i}`, set.data.overrideId);
  }
  assert.equal(new Set(ids.values()).size, 25);

  const sizes = [];
  const seen = new Map();
  for await (const page of await api().listOverrides({ namespace: listed })) {
    sizes.push(page.result.data.length);
    for (const { identifier, overrideId } of page.result.data) seen.set(identifier, overrideId);
  }
  assert.deepEqual(sizes, [10, 10, 5], 'the client asks for 10 a page');
  assert.deepEqual(new Map([...seen].sort()), new Map([...ids].sort()));

  const first = await api().listOverrides({ namespace: listed, limit: 24 });
  const second = await first.next();
  assert.equal(first.result.pagination.hasMore, true);
  assert.equal(second.result.data.length, 1);
  assert.equal(second.next(), null);
  const full = await api().listOverrides({ namespace: listed, limit: 25 });
  assert.equal(full.next(), null, 'a page that is exactly full is the last');
  const fresh = await api().listOverrides({ namespace: listed, cursor: '' });
  assert.equal(fresh.result.data[0].identifier, 'o0', 'an empty cursor asks for the first page');
  await api().limit(about('x', { namespace: 'api-used' }));
  const empty = await api().listOverrides({ namespace: 'api-used' });
  assert.deepEqual(empty.result.data, []);
  const missing = await rejection(api().listOverrides({ namespace: 'api-unknown' }));
  assert.ok(missing instanceof errors.NotFoundErrorResponse);
  assert.equal(missing.error.type, 'https://unkey.com/docs/errors/unkey/data/ratelimit_namespace_not_found');
  assert.ok(await rejection(api().listOverrides({ namespace: listed, limit: 101 })) instanceof errors.BadRequestErrorResponse);
});

test('a bad request is answered with every problem in it', async () => {
  const bad = { namespace: '', identifier: 'x'.repeat(513), limit: -1, duration: 999, cost: -1 };
  const refused = await rejection(api().limit(bad));
  assert.ok(refused instanceof errors.BadRequestErrorResponse);
  assert.equal(refused.error.status, 400);
  assert.equal(refused.error.type, 'https://unkey.com/docs/errors/unkey/application/invalid_input');
  assert.deepEqual(refused.error.errors.map(problem => problem.location).sort(),
    ['body.cost', 'body.duration', 'body.identifier', 'body.limit', 'body.namespace']);
});

test('errors of HTTP have their status', async () => {
  const elsewhere = await rejection(api({ serverURL: `${open.url}/nowhere` }).limit(about('x')));
  assert.ok(elsewhere instanceof errors.NotFoundErrorResponse);

  const send = (fields, headers) => rejection(api().limit(about('x', fields), { headers }));
  assert.equal((await send({ identifier: 'x'.repeat(1100000) })).statusCode, 413);
  assert.equal((await send({}, { 'content-type': 'text/plain' })).statusCode, 415);
  assert.equal((await send({}, { 'x-big': 'y'.repeat(17000) })).statusCode, 431);
  const problem = await send({ duration: 1 }, { accept: 'application/problem+json' });
  assert.deepEqual([problem.statusCode, problem.contentType], [400, 'application/problem+json']);
  assert.equal((await api().limit(about('after the errors'))).data.success, true);
});

test('a token opens what its permissions say', async () => {
  const as = rootKey => api({ serverURL: guarded.url, rootKey });
  const override = { namespace, identifier: 'x', limit: 1, duration: 1000 };
  const unknown = await rejection(as('wrong').limit(about('x')));
  assert.ok(unknown instanceof errors.UnauthorizedErrorResponse);
  assert.match(unknown.headers.get('www-authenticate'), /^Bearer/);
  assert.equal(unknown.error.type, 'https://unkey.com/docs/errors/unkey/authentication/key_not_found');
  const forbidden = await rejection(as(LIMITER).setOverride(override));
  assert.ok(forbidden instanceof errors.ForbiddenErrorResponse);
  assert.equal(forbidden.error.status, 403);
  assert.equal((await as(LIMITER).limit(about('x'))).data.success, true);
  await as(MANAGER).setOverride(override);
});

test('a timeout is an error that leaves the choice to the caller, and the late request still counts', async () => {
  const slow = await startSlowProxy(open.url, 1200);
  const begin = Date.now();
  const late = await rejection(api({ serverURL: slow.url }).limit(about('tim'), { timeoutMs: 200 }));
  assert.ok(late instanceof errors.RequestTimeoutError);
  assert.ok(Date.now() - begin < 1100, 'the client did not wait for the answer');
  assert.equal((await api().limit(about('tim'))).data.remaining, 1);
  const inTime = await api({ serverURL: slow.url }).limit(about('tom'), { timeoutMs: 10000 });
  assert.equal(inTime.data.success, true);
  slow.close();
});

test('X-Test-Time is the time of the decision where the server allows it', async () => {
  const minute = 60000;
  const begin = 28333334 * minute;
  const at = async ms => {
    const headers = { 'x-test-time': String(ms) };
    return (await api().limit(about('clock', { limit: 1, duration: minute }), { headers })).data;
  };
  const [first, second, third] = [await at(begin), await at(begin + 1), await at(begin + 2 * minute)];
  assert.deepEqual([first.success, second.success, third.success], [true, false, true]);
  assert.deepEqual([first.reset, third.reset], [begin + minute, begin + 3 * minute]);
});
