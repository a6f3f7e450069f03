import type { Log } from '../kit/log.ts';
import type { McpIdentity } from './tool-list.ts';

export type LogCall = ReturnType<typeof createLogged>;

/** Logs the name of each call. */
export const createLogged =
  (log: Log) =>
  async <T>(
    identity: McpIdentity,
    call: string,
    answer: (identity: McpIdentity) => T | Promise<T>,
  ): Promise<T> => {
    if (!identity.logsCalls) {
      identity.note.call = call;
      return answer(identity);
    }
    const requestId = identity.requestId();
    const startedAt = performance.now();
    try {
      return await answer({ ...identity, requestId: () => requestId });
    } finally {
      const ms = Math.round(performance.now() - startedAt);
      log.info({ requestId, ms, ...identity.note, call }, 'request');
    }
  };
