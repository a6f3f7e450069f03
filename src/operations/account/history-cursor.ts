import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError, wrongField } from '../../kit/errors.ts';
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
 * `secret` is the same in all replicas and after every restart, so that a cursor outlives its process.
 */
export const createHistoryCursors = (secret: string) => {
  const sign = (text: string, { accountId, list }: CursorScope): Buffer =>
    createHmac('sha256', secret)
      .update(JSON.stringify([list, accountId, text]))
      .digest();

  return {
    write: ({ createdAt, id }: HistoryPosition, scope: CursorScope): string => {
      const text = `${createdAt}:${id}`;
      return Buffer.concat([sign(text, scope), Buffer.from(text)]).toString('base64url');
    },
    /** Throws AppError `invalid_cursor` on text that `write` did not make for this scope. */
    read: (cursor: string, scope: CursorScope): HistoryPosition => {
      const bytes = Buffer.from(cursor, 'base64url');
      const text = bytes.subarray(signatureBytes).toString('latin1');
      const [, createdAt, id] = positionPattern.exec(text) ?? [];
      const isCanonical = bytes.toString('base64url') === cursor;
      if (createdAt === undefined || id === undefined || !isCanonical) throw invalidCursor();
      if (!timingSafeEqual(bytes.subarray(0, signatureBytes), sign(text, scope))) throw invalidCursor();
      return { createdAt: Number(createdAt), id };
    },
  };
};

const invalidCursor = (): AppError =>
  wrongField(
    'invalid_cursor',
    'cursor',
    'cursor: it is not a next_cursor of this list and account. Send one as it came, or leave it out to begin anew.',
  );
