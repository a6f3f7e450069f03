import type { Catalogs } from '../../accounts/catalog/catalog.ts';
import type { Executor } from '../../jobs/executor.ts';
import { toFailedOutcome } from '../../jobs/provider-failure.ts';
import type { Log } from '../../kit/log.ts';
import { outliveOutage } from '../../kit/repeat.ts';
import { ProviderError } from '../../providers/provider-error.ts';
import type { Job, Store } from '../../store/store.ts';

interface Shop {
  catalogs: Catalogs;
  store: Pick<Store, 'getAccount'>;
  log: Log;
}

/**
 * Fails a job uncharged if its account cannot buy its SKU now. The gateway may restart with other routes while a job is
 * queued. Then the sandbox must not answer for real money, nor a real model for sandbox credit.
 */
export const ifSold =
  (shop: Shop, run: Executor): Executor =>
  async (job, context) => {
    if (job.providerTask !== null || (await isSold(job, shop, context.signal))) return run(job, context);
    const message = `the account of the job cannot buy ${job.model} any more`;
    const error = new ProviderError(message, { failure: 'fatal', code: 'upstream_unavailable' });
    return toFailedOutcome(error, { log: shop.log, job });
  };

const isSold = async (
  { id: jobId, accountId, model }: Job,
  { catalogs, store, log }: Shop,
  signal: AbortSignal,
): Promise<boolean> => {
  const account = await outliveOutage(
    async () => {
      await catalogs.refresh();
      return store.getAccount(accountId);
    },
    { what: 'reading the account of a job', jobId, log, signal },
  );
  if (account === null) throw new Error(`there is no account ${accountId}`);
  // The account's own list of SKUs was checked when the job was admitted.
  const catalog = catalogs.for({ accountId, terms: null, isSandbox: account.isSandbox });
  return catalog.list().some(({ sku }) => sku === model);
};
