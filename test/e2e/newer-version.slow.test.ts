import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { gatewayArguments } from '../../scripts/node-arguments.ts';
import { embeddedStoreFile } from '../../src/store/open-store.ts';
import { layDataFolder } from '../data-template.ts';

it('a gateway ends with 1 and says why when a newer version has migrated its store', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'causeway-newer-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  layDataFolder(dataDir);
  const child = spawn(process.execPath, gatewayArguments, {
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exit = once(child, 'exit');
  const errors = text(child.stderr);
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('Stop it with')) continue;
    const database = new DatabaseSync(embeddedStoreFile(dataDir));
    database.exec(`insert into kysely_migration values ('9999-of-a-newer-version', '2027-11-01')`);
    database.close();
  }
  expect(await exit).toEqual([1, null]);
  expect(await errors).toMatch(/a newer version of Causeway .*9999-of-a-newer-version.*this gateway ends/);
});
