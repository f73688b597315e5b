// Starts the program under test and loads the clients that were installed for it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const { SLUICE_PROGRAM, SLUICE_CLIENTS } = process.env;
if (!SLUICE_PROGRAM || !SLUICE_CLIENTS) throw new Error('start these tests with tests/clients/run');

const require = createRequire(join(SLUICE_CLIENTS, 'package.json'));
export const load = name => import(pathToFileURL(require.resolve(name)).href);

export async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

// The program takes variables that begin with SLUICE_ for its settings.
export const cleanEnvironment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SLUICE_')));

async function isReady(url) {
  try {
    return (await fetch(`${url}/readyz`)).ok;
  } catch {
    return false;
  }
}

// Starts `sluice serve` on `port` or a free one, with `config` as its file, and waits until it is ready.
// `stop` ends it and fails if it did not end well.
export async function startSluice({ flags = [], config = '', port } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-clients-'));
  const file = join(folder, 'sluice.toml');
  writeFileSync(file, config);
  const url = `http://127.0.0.1:${port ?? await freePort()}`;

  let log = '';
  const address = url.slice('http://'.length);
  const child = spawn(SLUICE_PROGRAM, ['serve', '--config', file, '--listen', address, ...flags], { env: cleanEnvironment() });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', bytes => { log += bytes; });
  const exited = once(child, 'exit');

  for (let tries = 0; !(await isReady(url)); ++tries) {
    if (child.exitCode !== null || tries === 300) throw new Error(`sluice did not become ready:\n${log}`);
    await sleep(50);
  }
  const stop = async () => {
    child.kill('SIGTERM');
    const [code, signal] = await exited;
    rmSync(folder, { recursive: true });
    if (code !== 0) throw new Error(`sluice ended with ${code ?? signal}:\n${log}`);
  };
  return { url, stop };
}
