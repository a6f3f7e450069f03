import { newId } from '../../kit/ids.ts';
import type { Nano } from '../../kit/money.ts';
import { insufficientBalance, openPrepaid } from '../../purchases/prepaid.ts';
import type { NewJob } from '../../store/store.ts';
import type { AccountCall, Idempotency, OpenedJob, Services } from '../operation.ts';
import { AppError } from '../../kit/errors.ts';

export interface MediaJobOrder {
  job: Omit<NewJob, 'id' | 'accountId' | 'keyId'>;
  price: Nano;
  activeLimit?: number;
}

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
  { caller }: AccountCall,
  services: Services,
): Promise<OpenedJob> => {
  const ids = inputs.map(({ id }) => id);
  let isNew = false;
  try {
    const { job, price, ...limit } = toOrder();
    const opened = await openPrepaid(services, {
      job: { ...job, id: newId(), accountId: caller.accountId, keyId: caller.keyId },
      hold: price,
      idempotency,
      inputs: ids,
      ...limit,
    });
    if (opened.outcome === 'insufficient')
      throw insufficientBalance({ needed: price, available: opened.available });
    isNew = opened.outcome === 'opened';
    return { job: opened.job, isReplayed: !isNew };
  } finally {
    if (!isNew) await services.media.discard(ids);
  }
};

/** Throws AppError while every route of a SKU is suspended, because a new job could only fail. */
export const assertRoute = async (router: { restMs(): Promise<number> }): Promise<void> => {
  const restMs = await router.restMs();
  if (restMs > 0)
    throw new AppError(
      'upstream_unavailable',
      'model: no provider can make this now. Nothing was charged. Try again.',
      { param: 'model', retryAfterSeconds: Math.ceil(restMs / 1_000) },
    );
};
