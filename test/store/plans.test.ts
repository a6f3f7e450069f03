import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgresDialect } from '../../src/store/postgres/sql.ts';
import { sqliteDialect } from '../../src/store/sqlite/prepare.ts';
import { listEntries, listJobs, sumUsage } from '../../src/store/statements/history.ts';
import { findReplay, sweepIdempotencyKeys } from '../../src/store/statements/idempotency.ts';
import { sweepMadeClips } from '../../src/store/statements/made-clips.ts';
import { countActive, recordProgress, releaseJobs, renewLeases } from '../../src/store/statements/jobs.ts';
import { findPaymentsByPrefix, findPaymentsByTransaction } from '../../src/store/statements/find-payments.ts';
import { paymentLists } from '../../src/store/statements/list-payments.ts';
import { webhookLists } from '../../src/store/statements/list-webhooks.ts';
import {
  attachInputs,
  dropUntaken,
  discardMedia,
  listExpiredMedia,
  listMedia,
  noteRemoval,
} from '../../src/store/statements/media.ts';
import {
  listNewestRefunds,
  listRefundsOf,
  listOpenRefunds,
} from '../../src/store/statements/payment-refunds.ts';
import { listSettledPayments, sumPayments } from '../../src/store/statements/payment-sums.ts';
import {
  claimPaymentChecks,
  deleteRejectedPayments,
  forgetPaymentAnswers,
} from '../../src/store/statements/payment-upkeep.ts';
import { advancePayment, findPaymentById, reservePayment } from '../../src/store/statements/payments.ts';
import type { Dialect } from '../../src/store/statements/statement.ts';
import {
  claimWebhooks,
  listDueWebhooks,
  listWebhookAttempts,
  moveWebhook,
} from '../../src/store/statements/webhooks.ts';
import { start } from './builders.ts';
import { noise } from './noise.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

/** Each with the index that finds its rows, whatever else there is. */
const plans: [statement: { name: string; text(dialect: Dialect): string }, index: RegExp][] = [
  [listJobs, /jobs_by_account/],
  [listEntries, /ledger_entries_by_account/],
  [sumUsage, /jobs_by_account/],
  [findReplay, /idempotency_keys(_pkey|_1 )/],
  [sweepIdempotencyKeys, /idempotency_keys_by_expiry/],
  [sweepMadeClips, /made_clips_by_age/],
  [countActive, /jobs_active/],
  [recordProgress, /jobs(_pkey|_1 )/],
  [renewLeases, /jobs(_pkey|_1 )/],
  [releaseJobs, /jobs(_pkey|_1 )/],
  [listMedia, /media_by_job/],
  [listExpiredMedia, /media_to_remove/],
  [attachInputs, /media(_pkey|_1 )/],
  [discardMedia, /media(_pkey|_1 )/],
  [noteRemoval, /media(_pkey|_1 )/],
  [dropUntaken, /media(_pkey|_1 )/],
  [listDueWebhooks, /webhook_events_due/],
  [claimWebhooks, /webhook_events(_pkey|_1 )/],
  [moveWebhook, /webhook_events(_pkey|_1 )/],
  [listWebhookAttempts, /webhook_attempts(_pkey|_1 )/],
  [webhookLists.ofJob, /webhook_events_by_job/],
  [webhookLists.ofAccount, /webhook_events_by_account/],
  [webhookLists.ofStates, /webhook_events_by_state/],
  [webhookLists.all, /webhook_events_by_age/],
  [reservePayment, /payments_by_payment_id/],
  [advancePayment, /payments(_pkey|_1 )/],
  [findPaymentById, /payments_by_payment_id/],
  [paymentLists.all, /payments_by_age/],
  [paymentLists.inStates, /payments_by_state/],
  [paymentLists.ofNetwork, /payments_by_network/],
  [findPaymentsByTransaction, /payments_by_transaction/],
  [findPaymentsByPrefix, /payments(_pkey|_1 )[^]*payments_by_reference[^]*payments_by_transaction/],
  [claimPaymentChecks, /payments_to_check/],
  [deleteRejectedPayments, /payments_by_change/],
  [forgetPaymentAnswers, /payments_with_answer/],
  [listSettledPayments, /payments_by_settlement/],
  [sumPayments, /payments_by_settlement/],
  [listRefundsOf, /payment_refunds_by_payment/],
  [listOpenRefunds, /payment_refunds_open/],
  [listNewestRefunds, /payment_refunds_by_age/],
];

/** A walk through a whole table, not by an index and not of a list that was given. */
const wholeTable =
  /Seq Scan on (?!json)|SCAN (?!json_each|CONSTANT|receivers|pending|delivered|stopped|exhausted|moves|wanted|by_)(?!.* USING )/;

describe.each(testEngines())('the plans on $kind, among 100,000 jobs,', ({ kind, create }) => {
  let data: TestStore;
  beforeAll(async () => {
    data = await create();
    await data.sql(...noise(kind, { accounts: 1_000, jobs: 100_000, since: start }));
    // PostgreSQL does this by itself in time; SQLite is not told anything of its data.
    if (kind === 'postgres') await data.sql('analyze');
  });
  afterAll(() => data.remove());

  const planOf = async (text: string): Promise<string> => {
    const rows =
      kind === 'sqlite'
        ? await data.sql(`explain query plan ${text.replaceAll(/\$(\d+)/g, '?$1')}`)
        : await data.sql(
            // What a connection keeps for a statement that it runs often.
            'set plan_cache_mode = force_generic_plan',
            `prepare plan as ${text}`,
            `explain execute plan (${Array.from(new Set(text.match(/\$\d+/g)), () => 'null').join(', ')})`,
          );
    return rows.map((row) => String(row.detail ?? row['QUERY PLAN'])).join('\n');
  };

  it.each(plans.map(([{ name, text }, index]) => ({ name, text, index })))(
    'find the rows of $name by an index',
    async ({ text, index }) => {
      const plan = await planOf(text(kind === 'sqlite' ? sqliteDialect : postgresDialect));
      expect(plan).toMatch(index);
      expect(plan).not.toMatch(wholeTable);
    },
  );
});
