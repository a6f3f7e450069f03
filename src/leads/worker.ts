import { Readable } from 'node:stream';
import { parentPort, workerData } from 'node:worker_threads';
import { toAppError } from '../kit/errors.ts';
import type { LeadKeeper } from './lead-keeper.ts';
import { importStream } from './import/import-stream.ts';
import type { KeeperAnswer, KeeperOrder, KeeperTask } from './lead-desk.ts';
import { openLeadKeeper } from './open-lead-keeper.ts';

const perform = (keeper: LeadKeeper, task: KeeperTask): Promise<unknown> => {
  const { signal } = new AbortController();
  switch (task.kind) {
    case 'stats':
      return keeper.stats();
    case 'forget':
      return keeper.forget(task.usernames, { signal });
    case 'remember':
      return keeper.remember(task.usernames);
    case 'sweep':
      return keeper.sweep();
    case 'import':
      return importStream(keeper, task.options, Readable.fromWeb(task.body));
  }
};

const answer = async ({ place, task }: KeeperOrder): Promise<KeeperAnswer> => {
  try {
    const keeper = await openLeadKeeper(place);
    try {
      return { output: await perform(keeper, task) };
    } finally {
      await keeper.close();
    }
  } catch (error) {
    const known = toAppError(error);
    // A fault is reported with its cause, for the log.
    if (known.code === 'server_error') throw error;
    return { error: { code: known.code, message: known.message } };
  }
};

/* Does one task on the profiles, which may block this thread for long, and ends. */
parentPort?.postMessage(await answer(workerData as KeeperOrder));
