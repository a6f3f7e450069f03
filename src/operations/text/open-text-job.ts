import type { Catalog } from '../../catalog/catalog.ts';
import type { ModelConfig } from '../../catalog/model.ts';
import { AppError } from '../../kit/errors.ts';
import { newId } from '../../kit/ids.ts';
import { chargeFor, freezePrice, type FrozenPrice } from '../chat/chat-job.ts';
import { textJobShare } from '../../limits/memory-budget.ts';
import { leaseMs } from '../../jobs/job-runner.ts';
import { unitsAffordable, type Nano } from '../../kit/money.ts';
import { insufficientBalance, openPrepaid } from '../../purchases/prepaid.ts';
import type { AccountCall, Idempotency, OpenedJob, Services } from '../operation.ts';

/** The most attempts to lower the output limit, because the balance may change before the hold. */
const openAttempts = 4;

const defaultSku = 'textmodel-3.5-flash';

/** Returns the text SKU of this name. Without a name: the default one, or the first. Throws AppError `model_not_found`. */
export const findTextModel = (catalog: Catalog, sku: string | undefined): ModelConfig => {
  const found =
    sku === undefined
      ? (catalog.find(defaultSku, 'chat') ?? catalog.list().find(({ kind }) => kind === 'chat') ?? null)
      : catalog.find(sku, 'chat');
  if (found === null)
    throw new AppError('model_not_found', 'model: there is no such chat SKU. See GET /v1/models.', {
      param: 'model',
    });
  return found;
};

export interface TextJobTerms {
  maxOutputTokens: number;
  price: FrozenPrice;
}

export interface TextJobOrder {
  kind: 'chat' | 'responses';
  model: ModelConfig;
  /** An upper bound, see `promptTokensUpperBound`. */
  promptTokens: number;
  /** The caller's output limit. Null: as much as the balance allows. The SKU's `maxOutputTokens` lowers both. */
  outputLimit: number | null;
  /** Makes the job's work. It stays in this process, the only one that runs the job. */
  toWork(terms: TextJobTerms): object;
  /** Makes the part of the request that the job's row keeps while the job runs. */
  toRequest?(terms: TextJobTerms): object;
  /** Makes the part of the request that stays readable after the job's end. */
  toParameters?(terms: TextJobTerms): object;
  idempotency: Idempotency | null;
}

/** Returns the least hold of a text job: for the bound of its prompt, and its output limit or one token. */
export const leastTextHold = (
  model: ModelConfig,
  { promptTokens, outputLimit }: Pick<TextJobOrder, 'promptTokens' | 'outputLimit'>,
): Nano =>
  chargeFor(freezePrice(model.price), {
    promptTokens,
    completionTokens: Math.min(outputLimit ?? 1, model.maxOutputTokens),
  });

/**
 * Admits a text job that runs at once in this process. Holds the worst case: the bound of the prompt plus the output
 * limit. The SKU's limit lowers it, and the balance does when the caller set none. Throws AppError like `openPrepaid`,
 * and `insufficient_balance`.
 */
export const openTextJob = async (
  { kind, model, promptTokens, outputLimit, toWork, toRequest, toParameters, idempotency }: TextJobOrder,
  { caller, memory }: AccountCall,
  services: Services,
): Promise<OpenedJob> => {
  const price = freezePrice(model.price);
  const holdFor = (completionTokens: number): Nano => chargeFor(price, { promptTokens, completionTokens });

  let { available } = caller;
  for (let attempt = 1; ; attempt += 1) {
    const affordable = outputLimit ?? affordableOutput(model, available - holdFor(0));
    const limit = Math.min(affordable, model.maxOutputTokens);
    const hold = holdFor(Math.max(limit, 1));
    const terms = { maxOutputTokens: limit, price };
    const now = services.clock.now();
    const opened = await openPrepaid(services, {
      job: {
        id: newId(),
        accountId: caller.accountId,
        keyId: caller.keyId,
        kind,
        model: model.sku,
        status: 'running',
        leaseOwner: services.jobs.owner,
        leaseUntil: now + leaseMs,
        maxAttempts: 1,
        deadlineAt: now + services.config.chatDeadlineMs,
        request: toText(toRequest?.(terms)) ?? '',
        customData: null,
        parameters: toText(toParameters?.(terms)),
        webhookUrl: null,
      },
      hold,
      idempotency,
    });
    if (opened.outcome === 'opened')
      memory.holdUntil(services.jobs.start(opened.job, toWork(terms)).finished);
    memory.settleBody(textJobShare);
    if (opened.outcome !== 'insufficient')
      return { job: opened.job, isReplayed: opened.outcome === 'replayed' };
    available = opened.available;
    const least = holdFor(1);
    if (outputLimit !== null || attempt >= openAttempts || available < least)
      throw insufficientBalance({
        needed: outputLimit === null && available < least ? least : hold,
        available,
      });
  }
};

const toText = (value: object | undefined): string | null =>
  value === undefined ? null : JSON.stringify(value);

const affordableOutput = (model: ModelConfig, budget: Nano): number =>
  model.price.unit === 'token' ? unitsAffordable(budget, model.price.output) : Infinity;
