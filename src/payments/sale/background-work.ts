import { repeat } from '../../kit/repeat.ts';
import type { RefundNetwork } from '../refunds/refund-chain.ts';
import { checkRefunds } from '../refunds/check-refunds.ts';
import type { SaleContext } from './context.ts';
import { noteTermsEveryMs } from './find-terms.ts';
import { replayLifeMs } from './purchase.ts';
import { reconcile } from './reconcile.ts';

const reconcileEveryMs = 5_000;
const reconcileBatch = 50;
const maxReconcileBatches = 100;
const refundsEveryMs = 60_000;
const refundBatch = 200;
const pruneEveryMs = 60_000;
const pruneBatch = 1_000;
const maxPruneBatches = 100;
/** For how long a refused proof is kept, so that operators can see the reason. */
const rejectedLifeMs = 3_600_000;

export const beginBackgroundWork = async (
  context: SaleContext,
  { networks, signal }: { networks: readonly RefundNetwork[]; signal: AbortSignal },
): Promise<void> => {
  const { store, terms, clock, log } = context;
  const every = (intervalMs: number, what: string, work: () => Promise<void>): Promise<void> =>
    repeat({ what, intervalMs, signal, log, work });

  await Promise.all([
    every(reconcileEveryMs, 'reconciling payments', async () => {
      for (let batch = 0; batch < maxReconcileBatches && !signal.aborted; batch += 1) {
        const { examined, resolved } = await reconcile(context, { limit: reconcileBatch });
        if (examined > 0) log.info({ examined, resolved }, 'payments were reconciled');
        if (examined < reconcileBatch) return;
      }
    }),
    every(refundsEveryMs, 'looking at refunds', async () => {
      const checked = await checkRefunds({ store, networks, clock, limit: refundBatch, signal });
      for (const { refund, outcome } of checked)
        if (outcome === 'settled' || outcome === 'failed')
          log.info({ refund: refund.id, outcome, reason: refund.reason }, 'a refund has ended');
    }),
    every(pruneEveryMs, 'deleting old payments', async () => {
      const now = clock.now();
      for (let batch = 0; batch < maxPruneBatches && !signal.aborted; batch += 1) {
        const pruned = await store.prunePayments({
          rejectedBefore: now - rejectedLifeMs,
          deliveredBefore: now - 2 * replayLifeMs,
          limit: pruneBatch,
        });
        if (pruned === 0) return;
      }
    }),
    every(noteTermsEveryMs, 'noting the offered terms', () => terms.note()),
  ]);
};
