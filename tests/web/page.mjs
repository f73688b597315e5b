// The browser and the servers that the tests of the page share.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { cleanEnvironment, freePort, startSluice } from '../clients/sluice.mjs';

const { SLUICE_PROGRAM, SLUICE_CLIENTS, SLUICE_SCREENSHOTS } = process.env;
const require = createRequire(join(SLUICE_CLIENTS, 'package.json'));
const { chromium } = require('playwright-core');
export const axeSource = require('axe-core').source;

export const screenshot = (page, name) =>
  page.screenshot({ path: join(SLUICE_SCREENSHOTS, `${name}.png`), fullPage: true });

// Chromium with a profile of its own, which connects to no host but the server under test.
export const startBrowser = () =>
  chromium.launch({
    executablePath: '/usr/bin/chromium',
    headless: true,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });

// A server with an admin listener. `call` posts to the main listener, `admin` is the address of the page.
export async function startServer({ flags = [], config = '', port, adminPort } = {}) {
  const ports = { port: port ?? (await freePort()), adminPort: adminPort ?? (await freePort()) };
  const server = await startSluice({
    config,
    port: ports.port,
    flags: ['--admin-listen', String(ports.adminPort), ...flags],
  });
  const call = async (operation, body, token) => {
    const response = await fetch(`${server.url}/v2/ratelimit.${operation}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) },
    });
    assert.equal(response.status, 200, await response.clone().text());
    return (await response.json()).data;
  };
  return { ...server, ...ports, admin: `http://127.0.0.1:${ports.adminPort}`, call };
}

// A Redis without files; `stop` ends it.
export async function startRedis() {
  const port = await freePort();
  const child = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  for await (const text of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false }))
    if (text.includes('Ready to accept')) break;
  child.stdout.resume();
  const exited = once(child, 'exit');
  const stop = () => child.kill() && exited; // may be called again
  return { url: `redis://127.0.0.1:${port}`, stop };
}

// A folder that is removed by `remove`.
export function temporaryFolder() {
  const path = mkdtempSync(join(tmpdir(), 'sluice-web-'));
  return { path, remove: () => rmSync(path, { recursive: true }) };
}

// What a command of the program prints.
export async function run(...words) {
  const { stdout } = await promisify(execFile)(SLUICE_PROGRAM, words, {
    env: cleanEnvironment(),
    maxBuffer: 1 << 26,
  });
  return stdout;
}

// Opens the page in a context of its own. `close` fails if the page reported an error or asked another origin.
export async function openPage(browser, server, { view = 'traffic', token, allowedErrors = [], ...options } = {}) {
  const context = await browser.newContext({
    viewport: { width: 1240, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const errors = [];
  const requests = [];
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) errors.push(message.text());
  });
  page.on('pageerror', error => errors.push(error.message));
  page.on('request', request => requests.push(request.url()));
  await page.goto(`${server.admin}/#${view}`);
  if (token !== undefined) await signIn(page, token);
  const close = async () => {
    await context.close();
    const unexpected = errors.filter(text => !allowedErrors.some(allowed => text.includes(allowed)));
    assert.deepEqual(unexpected, []);
    assert.deepEqual(
      requests.filter(url => !url.startsWith(`${server.admin}/`)),
      [],
    );
  };
  return { page, close, errors, requests };
}

export async function signIn(page, token) {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

export const isLive = page => page.locator('#live[data-state="live"]').waitFor();
export const goTo = async (page, name) => {
  await page.getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
};
