import { AppError } from '../../kit/errors.ts';
import { type JsonObject, sourceText } from '../../kit/json.ts';
import type { Nano } from '../../kit/money.ts';
import { insufficient, openPrepaid, runningJob } from '../prepaid.ts';
import type { AccountCall, Idempotency, OpenedJob, Services } from '../call.ts';
import type { Catalogs } from '../../accounts/catalog/catalog.ts';
import type { Executor } from '../../jobs/executor.ts';
import { toFailedOutcome } from '../../jobs/provider-failure.ts';
import type { Log } from '../../kit/log.ts';
import { outliveOutage } from '../../kit/repeat.ts';
import { ProviderError } from '../../providers/provider-error.ts';
import type { Job, Store } from '../../store/store.ts';

export interface MediaJobOrder {
  kind: 'image' | 'video';
  model: string;
  price: Nano;
  /** The most jobs of this kind that the account may have queued or running. Default: no limit. */
  activeLimit?: number;
  /** True: somebody waits for the job, so it runs at once in this process. False: it is queued. */
  runsAtOnce: boolean;
  maxAttempts: number;
  /** The time from now in which the job must end. */
  deadlineMs: number;
  /** What the job's executor reads. */
  work: object;
  /** What stays readable after the job's end. */
  parameters?: JsonObject;
  customData: JsonObject | undefined;
  webhookUrl?: string | null | undefined;
}

/** The services of an operation whose jobs make images or videos. */
export type MediaServices = Pick<
  Services,
  | 'catalogs'
  | 'clock'
  | 'config'
  | 'fetchInput'
  | 'films'
  | 'jobs'
  | 'media'
  | 'providers'
  | 'store'
  | 'usageTags'
>;

export interface MediaJobInput {
  inputs: readonly { id: string }[];
  toOrder: () => MediaJobOrder;
  idempotency: Idempotency | null;
}

/**
 * Opens an image or video job under a hold of its price. Discards the inputs that were taken for it, unless a new job
 * uses them. Throws AppError like `toOrder` and `openPrepaid`, and `insufficient_balance`.
 */
export const openMediaJob = async (
  { inputs, toOrder, idempotency }: MediaJobInput,
  call: AccountCall,
  services: MediaServices,
): Promise<OpenedJob> => {
  const ids = inputs.map(({ id }) => id);
  let isNew = false;
  try {
    const { price, activeLimit, runsAtOnce, work, parameters, customData, webhookUrl, ...order } = toOrder();
    const given = {
      ...order,
      request: JSON.stringify({ ...work, requestId: call.requestId }),
      customData: sourceText(customData) ?? null,
      parameters: parameters === undefined ? null : JSON.stringify(parameters),
      webhookUrl: webhookUrl ?? null,
    };
    const running = runningJob(call, given, services);
    const opened = await openPrepaid(services, call, {
      job: runsAtOnce ? running : { ...running, status: 'queued', leaseOwner: null, leaseUntil: null },
      hold: price,
      idempotency,
      inputs: ids,
      ...(activeLimit === undefined ? {} : { activeLimit }),
    });
    if (opened.outcome === 'insufficient') throw insufficient({ ...opened, needed: price });
    isNew = opened.outcome === 'opened';
    if (isNew && runsAtOnce) services.jobs.start(opened.job);
    return { job: opened.job, isReplayed: !isNew };
  } finally {
    if (!isNew) await services.media.discard(ids);
  }
};

/** Throws AppError while every route of a SKU is suspended, because a new job could only fail. */
export const assertRoute = (router: { restMs(): number }): void => {
  const restMs = router.restMs();
  if (restMs > 0)
    throw new AppError(
      'upstream_unavailable',
      'model: no provider can make this now. Nothing was charged. Try again.',
      { param: 'model', retryAfterSeconds: Math.ceil(restMs / 1_000) },
    );
};

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
  // The list of SKUs, and the account's own one, were checked when the job was admitted.
  return catalogs.mayRun(model, account);
};
