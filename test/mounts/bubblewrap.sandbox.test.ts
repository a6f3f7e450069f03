import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Sandbox } from '../../src/mounts/mount-settings.ts';
import { toGuardedCommand } from '../../src/mounts/guarded-command.ts';
import { caller, makeFolder, pinOf, programConfig, startMounts, textOf, whenReady } from './start-mounts.ts';
import { sandboxPath, testPlaces } from './sandbox-places.ts';

beforeAll(async () => {
  // Says what is missing.
  await toGuardedCommand({
    kind: 'stdio',
    command: 'true',
    args: [],
    env: { PATH: sandboxPath },
    sandbox: { read: [], write: [], network: false },
  });
});

/** Starts the hostile server in a sandbox. The returned function runs JavaScript there, and returns its value as text. */
const startSandbox = async (
  more: Partial<Sandbox> = {},
  env: Record<string, string> = {},
): Promise<(code: string) => Promise<string>> => {
  const sandbox = { read: [...testPlaces, ...(more.read ?? [])], write: [], network: false };
  const mounts = await startMounts(
    [
      programConfig('hostile', {
        env: { PATH: sandboxPath, ...env },
        sandbox: { ...sandbox, ...more, read: sandbox.read },
      }),
    ],
    { silenceMs: 60_000 },
  );
  const call = caller(mounts);
  await whenReady(call);
  return (code) => textOf(call('run', pinOf('run'), { code }));
};

const fs = `process.getBuiltinModule('node:fs')`;
/** The code of the error, or ok. */
const attempt = (code: string): string =>
  `(() => { try { ${code}; return 'ok' } catch (e) { return e.code } })()`;
const runNode = (code: string): string =>
  `process.getBuiltinModule('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(code)}]).status`;

it('shows a program neither the files of the gateway nor its environment nor other processes', async () => {
  const folder = makeFolder();
  writeFileSync(join(folder, 'store'), 'secret');
  const run = await startSandbox({}, { NAMED: 'yes' });
  expect(await run(attempt(`${fs}.readFileSync('${folder}/store')`))).toBe('ENOENT');
  expect(await run(`${fs}.readdirSync('/tmp').includes('${basename(folder)}')`)).toBe('false');
  const names = (await run('Object.keys(process.env)')).split(',');
  expect(names).toEqual(expect.arrayContaining(['HOME', 'NAMED', 'PATH']));
  expect(names.filter((name) => !['HOME', 'NAMED', 'PATH', 'PWD', 'SHLVL'].includes(name))).toEqual([]);
  const seen = `${fs}.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).length`;
  expect(Number(await run(seen))).toBeLessThanOrEqual(3);
});

it('lets a program write only where the operator said, and to its own temporary files', async () => {
  const [readable, writable] = [makeFolder(), makeFolder()];
  writeFileSync(join(readable, 'a'), 'hello');
  const run = await startSandbox({ read: [readable], write: [writable] });
  expect(await run(`${fs}.readFileSync('${readable}/a')`)).toBe('hello');
  const write = (path: string): Promise<string> => run(attempt(`${fs}.writeFileSync('${path}', '1')`));
  for (const folder of [readable, '/', '/dev', '/usr', '/etc'])
    expect([folder, await write(`${folder}/b`)]).toEqual([folder, 'EROFS']);
  expect(await write('/proc/sys/vm/swappiness')).toMatch(/^E/);
  expect([await write(`${writable}/b`), await write('/tmp/b')]).toEqual(['ok', 'ok']);
  expect(readFileSync(join(writable, 'b'), 'utf8')).toBe('1');
  expect(existsSync(join(readable, 'b'))).toBe(false);
});

it.each([
  ['no', false, '1'],
  ['every', true, '0'],
])('lets a program reach %s service of this machine if network is %s', async (_which, network, status) => {
  const server = createServer((_request, response) => response.end('here'));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const run = await startSandbox({ network });
  expect(
    await run(
      runNode(`fetch('http://127.0.0.1:${port}').then(() => process.exit(0), () => process.exit(1))`),
    ),
  ).toBe(status);
});

it('bounds the memory, the processes and the open files of a program', async () => {
  const run = await startSandbox();
  const limits = await run(`${fs}.readFileSync('/proc/self/limits', 'utf8')`);
  const hard = (name: string): number => Number(new RegExp(`^${name} +\\S+ +(\\S+)`, 'm').exec(limits)?.[1]);
  expect(['Max data size', 'Max processes', 'Max open files', 'Max core file size'].map(hard)).toEqual([
    1024 ** 3,
    256,
    1_024,
    0,
  ]);
  const take = (bytes: number): string =>
    runNode(`const all = []; for (let n = 0; n < ${bytes}; n += 1e8) all.push(new Uint8Array(1e8).fill(1))`);
  expect(await run(take(2e8))).toBe('0');
  expect(await run(take(3e9))).not.toBe('0');
  expect(Number(await run(`${fs}.statfsSync('/tmp').blocks * ${fs}.statfsSync('/tmp').bsize`))).toBe(
    256 * 1024 ** 2,
  );
});
