import { parentPort, workerData } from 'node:worker_threads';
import type { FromThread, ToThread } from '../../kit/threads/connect-thread.ts';
import { openConnection } from './connection.ts';
import { toFailure, type Command, type ConnectionSettings, type Greeting, type Outcome } from './messages.ts';

const post = (message: FromThread<Outcome, Greeting>): void => parentPort?.postMessage(message);

/** Runs the thread of one connection to the file. It ends on request, or after an uncaught fault. */
const start = (port: NonNullable<typeof parentPort>, settings: ConnectionSettings): void => {
  const connection = openConnection(settings, (answers) => post({ answers }));
  port.on('message', (message: ToThread<Command>) => {
    if (message === 'close') {
      connection.close();
      port.close();
    } else connection.take(message.calls);
  });
  post({ event: { ready: true } });
};

if (parentPort !== null) {
  const settings: ConnectionSettings = workerData;
  try {
    start(parentPort, settings);
  } catch (error) {
    post({ event: toFailure(error) });
    parentPort.close();
  }
}
