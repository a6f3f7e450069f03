import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { repository, runNode, temporaryFolder } from './run-cli.ts';

// Every test starts processes, some of them the whole gateway.
const launcher = join(repository, 'bin/causeway.mjs');
const checker = join(repository, 'bin/check-node.mjs');
const oldNodeLine =
  /^Causeway needs Node\.js 24 or newer, but this is v20\.20\.2: [^\n]*"npm install"[^\n]*\n$/;

/** Makes a Node tell an older version than its own, to what it runs only and not to its children. */
const asNode = (version: string): string[] => [
  '--import',
  `data:text/javascript,Object.defineProperty(process,"version",{value:"${version}"});` +
    `Object.defineProperty(process.versions,"node",{value:"${version.slice(1)}"})`,
];

/** Makes a Node take this machine for one for which npm brings no Node. */
const onOtherMachine = [
  '--import',
  'data:text/javascript,Object.defineProperty(process,"arch",{value:"s390x"})',
];

test('an older Node is refused by the check in one line', async () => {
  const ended = await runNode([...asNode('v20.20.2'), checker]);
  expect(ended).toMatchObject({ exitCode: 1, stdout: '' });
  expect(ended.stderr).toMatch(oldNodeLine);
});

test.each(['v24.0.0', 'v25.1.0', 'v100.0.0'])('Node %s passes the check silently', async (version) => {
  expect(await runNode([...asNode(version), checker])).toEqual({ exitCode: 0, stdout: '', stderr: '' });
});

test('the launcher runs the commands, also through a link in another folder', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, '.bin'));
  const link = join(folder, '.bin', 'causeway');
  await symlink(launcher, link);
  const ended = await runNode([link, '--version'], { cwd: folder });
  expect(ended).toEqual({ exitCode: 0, stdout: `${packageJson.version}\n`, stderr: '' });
});

test.skipIf(!['linux-x64', 'linux-arm64', 'win32-x64'].includes(`${process.platform}-${process.arch}`))(
  'an older Node hands the words over to the Node that npm brought, and its exit code back',
  async () => {
    const older = asNode('v20.20.2');
    expect(await runNode([...older, launcher, '--version'])).toEqual({
      exitCode: 0,
      stdout: `${packageJson.version}\n`,
      stderr: '',
    });
    const missing = ['accounts', 'list', '--data-dir', '/nowhere', '--json'];
    const refused = await runNode([...older, launcher, ...missing]);
    expect(refused.exitCode).toBe(1);
    expect(JSON.parse(refused.stdout).error.code).toBe('no_data');
    expect((await runNode([...older, launcher, 'nonsense'])).exitCode).toBe(2);
  },
);

test('an older Node without that one is refused in one line', async () => {
  const ended = await runNode([...asNode('v20.20.2'), ...onOtherMachine, launcher, '--version']);
  expect(ended).toMatchObject({ exitCode: 1, stdout: '' });
  expect(ended.stderr).toMatch(oldNodeLine);
});

test('"causeway start --help" shows the help and starts nothing', async () => {
  const ended = await runNode([launcher, 'start', '--help']);
  expect(ended).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Usage: causeway start') });
});

test('"causeway start" runs the gateway until SIGTERM, also under an older Node', async () => {
  const dataDir = await temporaryFolder();
  const child = spawn(process.execPath, [...asNode('v20.20.2'), launcher, 'start'], {
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      DATA_DIR: dataDir,
      LOG_LEVEL: 'silent',
      SYNTHETIC_PROFILES: '100',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exit = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes('listening on')) child.kill('SIGTERM');
  }
  expect(await exit).toEqual([0, null]);
});
