import type { IncomingMessage, ServerResponse } from 'node:http';
import { createFindCaller, findOperator } from '../../accounts/authenticate.ts';
import { startDeadline } from '../../kit/deadline.ts';
import { AppError, methodNotAllowed } from '../../kit/errors.ts';
import { createFairShareLimiter } from '../../kit/fair-share-limiter.ts';
import type { Log } from '../../kit/log.ts';
import { pause } from '../../kit/repeat.ts';
import type { StreamAnswer } from '../../operations/answer.ts';
import { writeEvents } from '../write-events.ts';
import { idOf, isCustomer, readSession, type Role, type SessionOptions } from './sessions.ts';

export interface LiveOptions extends SessionOptions {
  log: Log;
  /** Aborts when new requests are refused: the streams end. */
  refusing: AbortSignal;
}

const lookEveryMs = 2_000;
/** The browser opens the stream again. */
const longestMs = 3_600_000;
const maxOfSession = 3;
const maxOfOwner = 6;
/** Each stream costs three reads of the store at each look. A page without one polls. */
const maxOfGroup = 200;

const sessionEnded = (): AppError => new AppError('invalid_api_key', 'The session has ended. Sign in again.');

const tooManyWindows = (): AppError =>
  new AppError('rate_limit_exceeded', 'The console is open in too many windows. Close some of them.', {
    retryAfterSeconds: 30,
  });

/** What a stream looks at again and again. */
interface Watched {
  /** The account, or the operator's key. */
  owner: string;
  /** Accounts of strangers cost nothing, so they have places of their own. */
  group: Role | 'stranger';
  hasKey(): Promise<boolean>;
  readState(): Promise<string>;
}

const watchAs = {
  customer: async (keyHash: string, options: LiveOptions): Promise<Watched> => {
    const { accountId, isStranger } = await createFindCaller(options)(keyHash);
    const readState = async (): Promise<string> => {
      const account = await options.store.getAccount(accountId);
      return `${account?.balance} ${account?.held}`;
    };
    const group = isStranger === true ? 'stranger' : 'customer';
    return { owner: accountId, group, hasKey: () => isCustomer(keyHash, options), readState };
  },
  operator: async (keyHash: string, options: LiveOptions): Promise<Watched> => {
    const find = () => findOperator(options, keyHash);
    const key = await find();
    if (key === null) throw sessionEnded();
    return {
      owner: key.id,
      group: 'operator',
      hasKey: async () => (await find()) !== null,
      readState: () => options.store.readPulse(undefined),
    };
  },
};

/**
 * Serves the streams on which pages hear that something has changed, in an event without more: for a customer balance or
 * holds, for an operator jobs, payments and changes of operators. Ends with the session and with its key. Throws AppError.
 */
export const createServeLive = (options: LiveOptions) => {
  const { log, refusing } = options;
  const places = createFairShareLimiter({
    total: Infinity,
    perOwner: { session: maxOfSession, owner: maxOfOwner, group: maxOfGroup },
  });

  return async (
    request: IncomingMessage,
    response: ServerResponse,
    { role, requestId }: { role: Role; requestId: string },
  ): Promise<void> => {
    if (request.method !== 'GET') throw methodNotAllowed('GET');
    const id = idOf(request, role, options);
    const keyHash = await readSession(request, role, options);
    if (id === null || keyHash === null) throw sessionEnded();
    const { owner, group, hasKey, readState } = await watchAs[role](keyHash, options);
    const left = new AbortController();
    response.once('close', () => left.abort());
    if (response.destroyed) return;
    const release = places.tryAcquire({ session: id, owner, group });
    if (release === null) throw tooManyWindows();
    const over = startDeadline({ totalMs: longestMs, signals: [left.signal, refusing] });
    const isOpen = async (): Promise<boolean> =>
      !over.signal.aborted && (await readSession(request, role, options)) !== null && (await hasKey());
    const stream: StreamAnswer['stream'] = async (send) => {
      for (let known = ''; await isOpen(); await pause(lookEveryMs, over.signal)) {
        const state = await readState();
        if (state !== known) await send([{ data: 'changed' }]);
        known = state;
      }
    };
    try {
      await writeEvents(response, { kind: 'stream', headers: {}, stream }, { log, requestId });
    } finally {
      over.end();
      release();
    }
  };
};
