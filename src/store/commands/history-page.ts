import type { SqlValue } from '../statement.ts';

/** The position of the last row of a page. */
export interface HistoryPosition {
  createdAt: number;
  id: string;
}

/** Above every possible position. */
export const top: HistoryPosition = { createdAt: Number.MAX_SAFE_INTEGER, id: '' };

/** A page of an account's history, after the position `before`. */
export interface Page {
  accountId: string;
  limit: number;
  before: HistoryPosition | null;
}

export const pageValues = ({ accountId, limit, before }: Page): SqlValue[] => {
  const { createdAt, id } = before ?? top;
  return [accountId, createdAt, id, limit];
};
