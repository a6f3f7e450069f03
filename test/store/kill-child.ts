import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import type { Store } from '../../src/store/store.ts';
import { addAccount, finishing, opening, runningJob, start, type Owner } from './builders.ts';
import { openStoreAt, type StoreKind } from './open-store-at.ts';

/**
 * A process that writes to a store as fast as it can, and prints a line for every write that was acknowledged.
 * Arguments: engine, location, and how many rounds each writer does.
 */
const writers = 16;

const pause = new Int32Array(new SharedArrayBuffer(4));

const acknowledge = (what: string, id: string): void => {
  for (;;)
    try {
      writeSync(1, `${what} ${id}\n`);
      return;
    } catch (error) {
      // The reader of the pipe is behind.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
      Atomics.wait(pause, 0, 0, 5);
    }
};

const writeOnce = async (store: Store, owner: Owner): Promise<void> => {
  const entryId = randomUUID();
  const { accountId } = owner;
  await store.postEntry({ id: entryId, accountId, type: 'topup', amount: 1_000n, note: null, now: start });
  acknowledge('posted', entryId);
  const job = runningJob(owner);
  const opened = await store.openJob(opening(job, { hold: 900n }));
  if (opened.outcome !== 'opened') throw new Error(`not opened: ${opened.outcome}`);
  acknowledge('opened', job.id);
  const finished = await store.finishJob(finishing(job.id, { charge: 700n }));
  if (finished.outcome !== 'finished') throw new Error(`not finished: ${finished.outcome}`);
  acknowledge('finished', job.id);
};

const [kind, location = '', rounds = '0'] = process.argv.slice(2);
const store = await openStoreAt(kind === 'postgres' ? 'postgres' : ('sqlite' satisfies StoreKind), location);
const owner = await addAccount(store, { balance: 0n });
const write = async (): Promise<void> => {
  for (let round = 0; round < Number(rounds); round += 1) await writeOnce(store, owner);
};
await Promise.all(Array.from({ length: writers }, write));
await store.close();
