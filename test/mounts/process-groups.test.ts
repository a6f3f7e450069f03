import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createProcessGroups, endGroup } from '../../src/mounts/process-groups.ts';
import { isAlive, makeFolder } from './start-mounts.ts';

/** Starts a process that leads a group, and notes it as a gateway does. */
const startNoted = async (code = '') => {
  const child = spawn(process.execPath, ['-e', `${code}; setInterval(() => {}, 1e6); console.log('begun')`], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = child.pid ?? 0;
  onTestFinished(() => endGroup(pid, 'SIGKILL'));
  const [text] = (await once(child.stdout, 'data')) as [Buffer];
  const folder = makeFolder();
  const groups = createProcessGroups(folder);
  await groups.note(pid);
  return { child, pid, folder, groups, text: String(text), file: join(folder, String(pid)) };
};

it('ends a noted group, also if its leader has ended', async () => {
  const { child, pid, folder, groups, text } = await startNoted(
    `const { pid } = require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'],
      { stdio: 'inherit' }); console.log(pid)`,
  );
  const descendant = parseInt(text);
  process.kill(pid, 'SIGKILL');
  await once(child, 'exit');
  expect(isAlive(descendant)).toBe(true);
  await groups.endNoted();
  await expect.poll(() => isAlive(descendant)).toBe(false);
  expect(readdirSync(folder)).toEqual([]);
});

it.each([
  ['started at another time', (note: string) => note.replace(/^\d+/, '1')],
  ['was noted before the machine started anew', (note: string) => note.replace(/ \S+ /, ' other ')],
  ['was noted in another container', (note: string) => note.replace(/\[\d+\]$/, '[1]')],
  ['was not noted to the end', () => ''],
])('leaves a process alone that %s', async (_why, change) => {
  const { pid, folder, groups, file } = await startNoted();
  const changed = change(readFileSync(file, 'utf8'));
  expect(changed).not.toBe(readFileSync(file, 'utf8'));
  writeFileSync(file, changed);
  await groups.endNoted();
  expect(isAlive(pid)).toBe(true);
  expect(readdirSync(folder)).toEqual([]);
});

it('leaves a group alone that has got the number of one whose leader has ended', async () => {
  const { file, folder, groups } = await startNoted();
  // A job of a shell: its leader ends, and the session is that of the shell.
  const shell = spawn('bash', ['-c', 'set -m; (sleep 600 & echo $BASHPID $!) & wait; sleep 600'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [text] = (await once(shell.stdout, 'data')) as [Buffer];
  const [group = 0, member = 0] = String(text).split(' ').map(Number);
  onTestFinished(() => {
    endGroup(group, 'SIGKILL');
    endGroup(shell.pid ?? 0, 'SIGKILL');
  });
  await expect.poll(() => isAlive(group)).toBe(false);
  renameSync(file, join(folder, String(group)));
  await groups.endNoted();
  expect(isAlive(member)).toBe(true);
  expect(readdirSync(folder)).toEqual([]);
});

it('ends the other groups if a note cannot be read, and says so', async () => {
  const { pid, folder, groups } = await startNoted();
  mkdirSync(join(folder, '1000000000'));
  await expect(groups.endNoted()).rejects.toThrow(/EISDIR/);
  await expect.poll(() => isAlive(pid)).toBe(false);
});
