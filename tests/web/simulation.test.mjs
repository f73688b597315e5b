// `sluice simulate --html`: one file that shows the run, without any request.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { axeSource, run, screenshot, startBrowser, temporaryFolder } from './page.mjs';

const kHostile = '</script><img src=x onerror="window.hostile=1">';

let browser;
let folder;
before(async () => {
  folder = temporaryFolder();
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  folder.remove();
});

async function open(file, scheme) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width: 1000, height: 800 } });
  const page = await context.newPage();
  const errors = [];
  const requests = [];
  page.on('console', message => errors.push(message.text()));
  page.on('pageerror', error => errors.push(error.message));
  page.on('request', request => requests.push(request.url()));
  const url = pathToFileURL(file).href;
  await page.goto(url);
  await page.locator('svg.chart path.line').first().waitFor();
  return { page, close: async () => {
    await context.close();
    assert.deepEqual(errors, []);
    assert.deepEqual(requests, [url]);
  } };
}

test('the report shows what --json prints, with nothing from elsewhere', async () => {
  const file = join(folder.path, 'report.html');
  const words = ['simulate', '--regions', '2', '--nodes-per-region', '2', '--limit', '100', '--duration', '10s', '--for', '60s',
    '--fault', 'store-down@20s+10s', '--seed', '3', '--html', file, '--json'];
  const result = JSON.parse(await run(...words));
  assert.equal(result.failure, null);
  // After its load, a run checks the nodes with a few requests more.
  const admitted = result.regions.flatMap(each => each.admitted_over_time).reduce((sum, each) => sum + each);
  assert.ok(admitted > 0.8 * result.admitted && admitted <= result.admitted, `${admitted} of ${result.admitted}`);
  for (const scheme of ['light', 'dark']) {
    const { page, close } = await open(file, scheme);
    await page.getByText('all checks passed').waitFor();
    const decisions = new Intl.NumberFormat('en').format(result.decisions);
    await page.locator('.tile', { hasText: 'Decisions' }).filter({ hasText: decisions }).waitFor();
    assert.equal(await page.getByRole('img').count(), 3);
    await page.getByRole('row', { name: 'store-down@20s+10s' }).filter({ hasText: '20 s' }).waitFor();
    assert.match(await page.getByRole('row', { name: 'region-2' }).innerText(), new RegExp(`\\b${new Intl.NumberFormat('en').format(result.regions[1].decisions)}\\b`));
    await page.evaluate(axeSource);
    const { violations } = await page.evaluate(() => window.axe.run(document));
    assert.deepEqual(violations.filter(each => ['serious', 'critical'].includes(each.impact)).map(each => each.id), []);
    await screenshot(page, `simulation-${scheme}`);
    await close();
  }
});

test('a scenario can’t inject markup', async () => {
  const scenario = join(folder.path, 'hostile.toml');
  const file = join(folder.path, 'hostile.html');
  writeFileSync(scenario, `name = '${kHostile}'\nfor = "20s"\nduration = "10s"\n`);
  await run('simulate', scenario, '--html', file);
  assert.ok(!readFileSync(file, 'utf8').includes(kHostile));
  const { page, close } = await open(file, 'light');
  await page.getByRole('heading', { level: 1, name: kHostile }).waitFor();
  assert.equal(await page.evaluate(() => window.hostile), undefined);
  await close();
});

test('a file that can’t be written, and several runs, are refused', async () => {
  for (const [words, message] of [[['--html', join(folder.path, 'none', 'report.html')], 'report.html can\'t be written'],
    [['--swarm', '1', '--runs', '2', '--html', join(folder.path, 'x.html')], '--html shows one run; --runs is 2']]) {
    await assert.rejects(run('simulate', ...words), error => error.code === 2 && error.stderr.includes(message));
  }
});
