import { keyMember } from '../accounts/authenticate.ts';
import { AppError } from '../kit/errors.ts';
import type { Services } from '../operations/call.ts';
import type { McpIdentity } from './tool-list.ts';

export type LogCall = ReturnType<typeof createLogged>;

/** The part of a message that does not depend on its method. */
export interface Message {
  _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** Logs the name of each call, and answers it as the client whose key the message carries. */
export const createLogged = ({ log, config }: Pick<Services, 'log' | 'config'>) => {
  const member = config.wallets.isOn ? keyMember(config) : null;
  return async <T>(
    sender: McpIdentity,
    call: string,
    { _meta: meta }: Message,
    answer: (identity: McpIdentity) => T | Promise<T>,
  ): Promise<T> => {
    const key = member === null ? null : (meta?.[member] ?? null);
    const identity = member === null || key === null ? sender : withKey(sender, { key, member });
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
};

/**
 * Returns the client of a message with a key in its `_meta`. So a program that opened its connection without a key needs no
 * other one. The key is looked up when the account is asked for, on every call.
 */
const withKey = (sender: McpIdentity, { key, member }: { key: unknown; member: string }): McpIdentity => ({
  ...sender,
  hasKey: true,
  // Which of two accounts is charged must not depend on a rule that the caller may not know.
  caller: () =>
    sender.hasKey ? Promise.reject(hasTwoKeys(member)) : sender.callerOf(typeof key === 'string' ? key : ''),
});

const hasTwoKeys = (member: string): AppError =>
  new AppError(
    'invalid_parameter',
    `_meta["${member}"]: this connection has a key already. Leave one of both out: nothing was done.`,
    { param: '_meta' },
  );
