import type { IncomingMessage, ServerResponse } from 'node:http';
import { createFindCaller } from '../../accounts/authenticate.ts';
import { startDeadline } from '../../kit/deadline.ts';
import { AppError, methodNotAllowed } from '../../kit/errors.ts';
import type { Log } from '../../kit/log.ts';
import { pause } from '../../kit/repeat.ts';
import type { StreamAnswer } from '../../operations/answer.ts';
import { writeEvents } from '../write-events.ts';
import { idOf, isCustomer, readSession, type SessionOptions } from './sessions.ts';

export interface LiveOptions extends SessionOptions {
  log: Log;
  /** Aborts when new requests are refused: the streams end. */
  refusing: AbortSignal;
}

const lookEveryMs = 2_000;
/** The browser opens the stream again. */
const longestMs = 3_600_000;
const maxOfSession = 3;
const maxOfAccount = 50;

/**
 * Serves /console/live, on which a customer's pages hear that their account has changed: an event, without more, whenever
 * balance or holds are others. Ends with the session. Throws AppError.
 */
export const createServeLive = (options: LiveOptions) => {
  const { store, log, refusing } = options;
  const findCaller = createFindCaller(options);
  const open = new Map<string, number>();
  const count = (name: string): number => open.get(name) ?? 0;

  return async (request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void> => {
    if (request.method !== 'GET') throw methodNotAllowed('GET');
    const id = idOf(request, 'customer', options);
    const keyHash = await readSession(request, 'customer', options);
    if (id === null || keyHash === null)
      throw new AppError('invalid_api_key', 'The session has ended. Sign in again.');
    const { accountId } = await findCaller(keyHash);
    const left = new AbortController();
    response.once('close', () => left.abort());
    if (response.destroyed) return;
    const names = [
      [id, maxOfSession],
      [accountId, maxOfAccount],
    ] as const;
    if (names.some(([name, most]) => count(name) >= most))
      throw new AppError(
        'rate_limit_exceeded',
        'The console is open in too many windows. Close some of them.',
        {
          retryAfterSeconds: 30,
        },
      );
    const over = startDeadline({ totalMs: longestMs, signals: [left.signal, refusing] });
    const isOpen = async (): Promise<boolean> =>
      !over.signal.aborted &&
      (await readSession(request, 'customer', options)) !== null &&
      (await isCustomer(keyHash, options));
    const stream: StreamAnswer['stream'] = async (send) => {
      for (let known = ''; await isOpen(); await pause(lookEveryMs, over.signal)) {
        const account = await store.getAccount(accountId);
        const state = `${account?.balance} ${account?.held}`;
        if (state !== known) await send([{ data: 'changed' }]);
        known = state;
      }
    };
    for (const [name] of names) open.set(name, count(name) + 1);
    try {
      await writeEvents(response, { kind: 'stream', headers: {}, stream }, { log, requestId });
    } finally {
      over.end();
      for (const [name] of names)
        if (count(name) === 1) open.delete(name);
        else open.set(name, count(name) - 1);
    }
  };
};
