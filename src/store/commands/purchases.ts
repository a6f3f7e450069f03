import { read } from '../command.ts';
import { eachOf, firstOf } from '../statement.ts';
import { pageValues, type Page } from './history-page.ts';
import { paymentColumns, toPayment } from './payment-table.ts';

/** A page of what an account bought by payments. */
export interface PurchasePage extends Page {
  /** The wallet that owns the account; null for none. `networks`: CAIP-2, those on which it pays for this account. */
  wallet: { payer: string; networks: readonly string[] } | null;
}

const older = '(created_at, identity) < ($2, $3)';
const newest = 'order by created_at desc, identity desc limit $4';
/** Nothing was paid in the other states. */
const isBought = `state in ('broadcasting', 'unknown', 'settled', 'delivered')`;

/**
 * Lists the payments that raised the account's balance, and those of its wallet that bought answers, which need no
 * account. By `createdAt`, then identity, both descending, after the position `before`.
 */
export const listPurchases = read({
  text: ({ isOneOf }) => `select ${paymentColumns} from payments where identity in (
      select identity from (
        select identity from payments where account_id = $1 and ${older} and ${isBought} ${newest}
      ) as by_account union select identity from (
        select identity from payments
        where lower(payer) = lower(cast($5 as text)) and payer is not null and credit is null
          and (payer = $5 or network like 'eip155:%') and ${isOneOf('network', '$6')} and ${older} and ${isBought} ${newest}
      ) as by_payer
    )
    ${newest}`,
  values: ({ wallet, ...page }: PurchasePage) => [
    ...pageValues(page),
    wallet?.payer ?? null,
    JSON.stringify(wallet?.networks ?? []),
  ],
  read: eachOf(toPayment),
});

/** Finds the payment that paid for a job. */
export const findPaymentOfJob = read({
  text: `select ${paymentColumns} from payments where job_id = $1`,
  values: (jobId: string) => [jobId],
  read: firstOf(toPayment),
});
