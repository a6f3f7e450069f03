import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual, promisify } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { must, say, step, terminal } from './demo/stage.ts';

const run = promisify(execFile);
const stepTimeoutMs = 120_000;

/** Maps each file of a folder to its size and time of change. */
const readState = async (folder: string): Promise<Record<string, string>> => {
  const state: Record<string, string> = {};
  for (const name of (await readdir(folder, { recursive: true })).sort()) {
    const { size, mtimeMs } = await stat(join(folder, name));
    state[name] = `${size} ${mtimeMs}`;
  }
  return state;
};

/** Starts the gateway as a reader of the README does, and ends it by a signal to npx, which npx does not pass on. */
const startByNpx = async (folder: string): Promise<void> => {
  const npx = spawn('npx', [packageJson.name, 'start'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], PORT: '0', LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = createInterface({ input: npx.stdout });
  let url: string | undefined;
  for await (const line of output) {
    url ??= /listening on (http:\/\/\S+)/.exec(line)?.[1];
    if (!line.startsWith('Stop it with')) continue;
    const health = await fetch(`${url}/health/live`);
    must(health.ok, `${url}/health/live answers 200, not ${health.status}`);
    const page = await fetch(`${url}/console`);
    must(page.ok, `${url}/console answers 200, not ${page.status}`);
    npx.kill('SIGTERM');
  }
  // The gateway holds the output open until it has ended.
  must(url !== undefined, 'the gateway listens');
  if (npx.exitCode === null && npx.signalCode === null) await once(npx, 'exit');
};

const checkPackage = async (folder: string): Promise<void> => {
  const app = join(folder, 'app');
  await mkdir(app);
  await step('Pack the package', () => run('npm', ['pack', '--pack-destination', folder]));
  await step('Install it in an empty folder', async () => {
    const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
    must(tarball !== undefined, 'npm pack makes a .tgz file');
    const words = ['install', '--prefer-offline', '--no-audit', '--no-fund', join(folder, tarball)];
    await run('npm', words, { cwd: app, timeout: stepTimeoutMs });
  });
  const installed = await readState(join(app, 'node_modules'));
  await step(`npx ${packageJson.name}`, async () => {
    const { stdout } = await run('npx', [packageJson.name, '--version'], { cwd: app });
    must(stdout.trim() === packageJson.version, `--version prints ${packageJson.version}, not ${stdout}`);
    await startByNpx(app);
  });
  await step('A link to it in a folder of the PATH', async () => {
    const link = join(folder, 'causeway');
    await symlink(join(app, 'node_modules/.bin/causeway'), link);
    const { stdout } = await run(link, ['--version'], { cwd: folder });
    must(stdout.trim() === packageJson.version, `--version prints ${packageJson.version}, not ${stdout}`);
  });
  await step('Run the demo on the installed gateway', async () => {
    const launcher = join(app, 'node_modules', packageJson.name, packageJson.bin.causeway);
    const temporary = join(folder, 'tmp');
    await mkdir(temporary);
    const { stdout } = await run(process.execPath, ['scripts/demo.ts'], {
      env: { ...process.env, GATEWAY_LAUNCHER: launcher, TMPDIR: temporary },
      timeout: stepTimeoutMs,
    });
    const left = await readdir(temporary);
    must(left.length === 0, `the demo leaves nothing in the temporary folder, not ${left.join(', ')}`);
    say(stdout.trimEnd().split('\n').at(-1) ?? '');
  });
  const afterwards = await readState(join(app, 'node_modules'));
  must(isDeepStrictEqual(afterwards, installed), 'the installed files stay as they were');
};

const folder = await mkdtemp(join(tmpdir(), 'causeway-package-'));
try {
  await checkPackage(folder);
} catch (error) {
  terminal.fail(error);
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
