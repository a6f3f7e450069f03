import { parentPort, workerData } from 'node:worker_threads';
import { emptyLog, openDatabase } from './database.ts';
import type { FromThread, ToThread } from '../../kit/threads/messages.ts';
import {
  failureText,
  type Command,
  type Greeting,
  type Outcome,
  type Reply,
  type WorkerSettings,
} from './messages.ts';
import { migrateDatabase } from './migrate-database.ts';
import { createReader } from './reader.ts';
import { createWriter } from './writer.ts';

/** How long the prompt of an ended job may still be in the write-ahead log, where nobody reads for longer. */
const emptyLogEveryMs = 10_000;

const post = (message: FromThread<Outcome, Greeting>): void => parentPort?.postMessage(message);
const send = (replies: Reply[]): void =>
  post({ answers: replies.map(({ id, ...output }) => ({ id, output })) });

/** The thread that owns one connection to the file. It ends when told to, or when a fault escapes. */
const start = async (port: NonNullable<typeof parentPort>, settings: WorkerSettings): Promise<void> => {
  const database = openDatabase(settings);
  await migrateDatabase(database, settings.busyTimeoutMs);
  const emptying =
    settings.role === 'writer'
      ? setInterval(() => emptyLog(database, settings.busyTimeoutMs), emptyLogEveryMs)
      : undefined;
  const handler = settings.role === 'writer' ? createWriter(database, send) : createReader(database, send);
  port.on('message', (message: ToThread<Command>) => {
    if (message === 'close') {
      clearInterval(emptying);
      handler.drain();
      database.close();
      port.close();
    } else if ('calls' in message) handler.take(message.calls.map(({ id, input }) => ({ id, ...input })));
  });
  post({ event: { ready: true } });
};

if (parentPort !== null) {
  const port = parentPort;
  const settings: WorkerSettings = workerData;
  start(port, settings).catch((error: unknown) => {
    post({ event: { ready: false, failure: failureText(error) } });
    port.close();
  });
}
