import { newId } from '../../kit/ids.ts';
import type { Nano } from '../../kit/money.ts';
import { run, type Steps } from '../command.ts';
import { firstOf, onlyOf, statement, valuesOf, type EngineKind } from '../statement.ts';
import { post } from './ledger-table.ts';
import { isMade, owedCredit } from '../../rules/payments.ts';
import { payments, type Payment } from './payment-table.ts';

export const sumRefunds = statement({
  text: `select cast(coalesce(sum(amount), 0) as bigint) as amount from payment_refunds
    where payment = $1 and state <> 'failed'`,
  values: (payment: string) => [payment],
  read: onlyOf(({ amount }: { amount: bigint }) => amount),
});

export const lockAvailable = statement({
  text: ({ lockRows }) => `select balance - held as available from accounts where id = $1 ${lockRows}`,
  values: (accountId: string) => [accountId],
  read: onlyOf(({ available }: { available: Nano }) => available),
});

const setCredited = statement({
  text: `update payments set credited = $2, credit_entry = $3 where identity = $1 returning ${payments.list()}`,
  values: valuesOf<Pick<Payment, 'identity' | 'credited' | 'creditEntry'>>(
    'identity',
    'credited',
    'creditEntry',
  ),
  read: firstOf(payments.read),
});

export type CreditMove =
  | { outcome: 'moved'; payment: Payment }
  /** The account has spent the money, or holds it. Nothing was changed. */
  | { outcome: 'spent'; available: Nano; needed: Nano };

/**
 * Posts the entry that brings the balance of a payment's account in step with the payment and its refunds, if one is
 * missing. For a payment that proves not to have happened it takes back what the account has not spent and does not hold;
 * the rest is lost, and is not given again if the payment has happened after all. `refunded`: the sum of the refunds that
 * did not fail, if it is not the stored one. The caller has the lock on the payment.
 */
export function* moveCredit(
  payment: Payment,
  { refunded, now, entryId = newId() }: { refunded?: bigint; now: number; entryId?: string },
  kind: EngineKind,
): Steps<CreditMove> {
  const { identity, accountId, credit, credited, creditEntry } = payment;
  const isRaised = creditEntry !== null;
  if (credit === null || accountId === null || !(isRaised || isMade(payment)))
    return { outcome: 'moved', payment };
  const wanted = owedCredit(payment, refunded ?? (yield* run(sumRefunds, identity))) - credited;
  if (wanted === 0n && isRaised && isMade(payment)) return { outcome: 'moved', payment };
  const available = yield* run(lockAvailable, accountId);
  const isCovered = available + wanted >= 0n;
  if (!isCovered && isMade(payment)) return { outcome: 'spent', available, needed: -wanted };
  const amount = isCovered ? wanted : -available;
  const posted = yield* post(
    {
      id: entryId,
      accountId,
      type: amount > 0n && !isRaised ? 'topup' : 'adjustment',
      amount,
      jobId: null,
      note: `payment ${identity}`,
      payment: identity,
      createdAt: now,
    },
    kind,
  );
  if (posted === null) throw new Error(`the credit of payment ${identity} could not be posted`);
  const moved = yield* run(setCredited, {
    identity,
    credited: credited + amount,
    creditEntry: isMade(payment) ? (creditEntry ?? entryId) : null,
  });
  if (moved === null) throw new Error(`payment ${identity} is gone`);
  return { outcome: 'moved', payment: moved };
}
