import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../kit/errors.ts';
import { memoizeAsync } from '../../kit/memoize-async.ts';
import type { HistoryPosition } from '../../store/store.ts';

/** The list and the account that a cursor belongs to. */
export interface CursorScope {
  accountId: string;
  /** The name of the operation that lists. */
  list: string;
}

const signatureBytes = 32;
const positionPattern = /^(\d{1,16}):([\x21-\x7e]{1,300})$/;

export type HistoryCursors = ReturnType<typeof createHistoryCursors>;

/**
 * Turns the end of a page into signed text and back. Only the same account and list can use it.
 * `loadSecret` returns the same secret in all replicas and after every restart, so that a cursor outlives its process.
 * It is called once, at the first use.
 */
export const createHistoryCursors = (loadSecret: () => Promise<string>) => {
  const secret = memoizeAsync(loadSecret);
  const sign = async (text: string, { accountId, list }: CursorScope): Promise<Buffer> =>
    createHmac('sha256', await secret())
      .update(JSON.stringify([list, accountId, text]))
      .digest();

  return {
    write: async ({ createdAt, id }: HistoryPosition, scope: CursorScope): Promise<string> => {
      const text = `${createdAt}:${id}`;
      return Buffer.concat([await sign(text, scope), Buffer.from(text)]).toString('base64url');
    },
    /** Throws AppError `invalid_cursor` on text that `write` did not make for this scope. */
    read: async (cursor: string, scope: CursorScope): Promise<HistoryPosition> => {
      const bytes = Buffer.from(cursor, 'base64url');
      const text = bytes.subarray(signatureBytes).toString('latin1');
      const [, createdAt, id] = positionPattern.exec(text) ?? [];
      const isCanonical = bytes.toString('base64url') === cursor;
      if (createdAt === undefined || id === undefined || !isCanonical) throw invalidCursor();
      if (!timingSafeEqual(bytes.subarray(0, signatureBytes), await sign(text, scope))) throw invalidCursor();
      return { createdAt: Number(createdAt), id };
    },
  };
};

const invalidCursor = (): AppError =>
  new AppError(
    'invalid_cursor',
    'cursor: it is not a next_cursor of this list and account. Send one as it came, or leave it out to begin anew.',
    { param: 'cursor' },
  );
