import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import { usd } from '../../operations/answer-fields.ts';
import type { PostEntryOutcome } from '../../store/store.ts';
import { notFound } from '../require-found.ts';
import { entrySchema, exampleEntry, toEntryView } from './entry-view.ts';

export const postedSchema = z.strictObject({
  entry: entrySchema,
  balance_usd: usd.describe('What the account can spend now.'),
});

export type PostedEntry = z.output<typeof postedSchema>;

/** Makes the answer of a posted entry. Throws AppError if it was refused. */
export const toPosted = (
  posted: PostEntryOutcome,
  { accountId, amount }: { accountId: string; amount: Nano },
): PostedEntry => {
  switch (posted.outcome) {
    case 'no_account':
      throw notFound('account', accountId);
    case 'conflict':
      throw entryConflict();
    case 'insufficient':
      throw new AppError(
        'insufficient_balance',
        `The account has ${formatUsd(posted.available)} USD available; ${formatUsd(-amount)} USD cannot be taken.`,
      );
    case 'posted':
      return { entry: toEntryView(posted.entry), balance_usd: formatUsd(posted.available) };
  }
};

export const entryConflict = (): AppError =>
  new AppError(
    'idempotency_conflict',
    'entry_id: it was already posted with other contents. Use a new id for a new entry.',
    { param: 'entry_id', headers: { 'x-should-retry': 'false' } },
  );

export const examplePosted = { entry: exampleEntry, balance_usd: '25.00' };
