import { parentPort, workerData } from 'node:worker_threads';
import { emptyLog, openDatabase } from './database.ts';
import { failureText, type Greeting, type Reply, type ToWorker, type WorkerSettings } from './messages.ts';
import { migrateDatabase } from './migrate-database.ts';
import { createReader } from './reader.ts';
import { createWriter } from './writer.ts';

/** How long the prompt of an ended job may still be in the write-ahead log, where nobody reads for longer. */
const emptyLogEveryMs = 10_000;

/** The thread that owns one connection to the file. It ends when told to, or when a fault escapes. */
const start = async (port: NonNullable<typeof parentPort>, settings: WorkerSettings): Promise<void> => {
  const greet = (greeting: Greeting): void => port.postMessage(greeting);
  const send = (replies: Reply[]): void => port.postMessage(replies);
  const database = openDatabase(settings);
  await migrateDatabase(database, settings.busyTimeoutMs);
  const emptying =
    settings.role === 'writer'
      ? setInterval(() => emptyLog(database, settings.busyTimeoutMs), emptyLogEveryMs)
      : undefined;
  const handler = settings.role === 'writer' ? createWriter(database, send) : createReader(database, send);
  port.on('message', (message: ToWorker) => {
    if (message !== 'close') {
      handler.take(message);
      return;
    }
    clearInterval(emptying);
    handler.drain();
    database.close();
    port.close();
  });
  greet({ ready: true });
};

if (parentPort !== null) {
  const port = parentPort;
  const settings: WorkerSettings = workerData;
  start(port, settings).catch((error: unknown) => {
    port.postMessage({ ready: false, failure: failureText(error) } satisfies Greeting);
    port.close();
  });
}
