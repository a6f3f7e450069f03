import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { cliArguments } from '../../../scripts/node-arguments.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { newPayment } from '../../store/builders.ts';
import { runCli, temporaryDataFolder } from '../run-cli.ts';

const addPayments = async (dataDir: string, count: number): Promise<void> => {
  const store = await openStore({ databaseUrl: null, dataDir }, { log: silentLog, inThisThread: true });
  const now = Date.now();
  const add = async (settledAt: number): Promise<void> => {
    const { identity } = newPayment({ identity: crypto.randomUUID(), now });
    await store.reservePayment(newPayment({ identity, now }));
    const set = { settledAt, leaseOwner: null, leaseUntil: null, checkAt: null };
    await store.advancePayment({ identity, from: ['reserved'], to: 'delivered', set, now });
  };
  await Promise.all(Array.from({ length: count }, (_, index) => add(now + index)));
  await store.close();
};

/** A command in a process of its own that can be ended from here, with its stdout in `stdout`. */
const startCli = (args: readonly string[], dataDir: string, stdout: number | 'ignore'): ChildProcess => {
  const child = spawn(process.execPath, [...cliArguments, ...args], {
    env: { DATA_DIR: dataDir },
    stdio: ['ignore', stdout, 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
};

const csvFiles = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.includes('.csv'));

it.each(['SIGINT', 'SIGTERM'] as const)(
  'an export that %s ends leaves nothing behind, and can be made again',
  async (signal) => {
    const dataDir = await temporaryDataFolder();
    await addPayments(dataDir, 1_500);
    const args = ['payments', 'export', '--output', join(dataDir, 'payments.csv')];
    const exporting = startCli(args, dataDir, 'ignore');
    await vi.waitFor(async () => expect(await csvFiles(dataDir)).not.toEqual([]), {
      timeout: 60_000,
      interval: 2,
    });
    expect(await csvFiles(dataDir)).not.toContain('payments.csv');
    exporting.kill(signal);
    expect(await once(exporting, 'exit')).toEqual([null, signal]);
    expect(await csvFiles(dataDir)).toEqual([]);
    expect(await runCli(args, { env: { DATA_DIR: dataDir } })).toMatchObject({ exitCode: 0 });
    expect(await csvFiles(dataDir)).toEqual(['payments.csv']);
  },
);

it.each(['export', 'list'])('payments %s onto a full disk ends with one line', async (command) => {
  const dataDir = await temporaryDataFolder();
  await addPayments(dataDir, 1);
  const full = await open('/dev/full', 'w');
  const printing = startCli(['payments', command], dataDir, full.fd);
  let told = '';
  printing.stderr?.on('data', (chunk: Buffer) => (told += chunk.toString()));
  const [exitCode] = await once(printing, 'close');
  await full.close();
  expect([exitCode, told]).toEqual([1, 'causeway: The output cannot be written: the disk is full.\n']);
});
