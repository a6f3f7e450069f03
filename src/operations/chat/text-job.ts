import type { Catalogs } from '../../accounts/catalog/catalog.ts';
import { toPricing, type ModelConfig, type Price } from '../../accounts/catalog/model.ts';
import { type ErrorEnvelope } from '../../kit/errors.ts';
import { textJobShare } from '../../limits/memory-budget.ts';
import type { JsonObject, Json } from '../../kit/json.ts';
import { formatUsd, priceAtRates, unitsAffordable, type Nano } from '../../kit/money.ts';
import type { TextMessage, TextUsage, FinishReason, TextEvent } from '../../providers/text/text-provider.ts';
import { insufficient, openPrepaid, runningJob } from '../prepaid.ts';
import type { AccountCall, Idempotency, OpenedJob, Services } from '../call.ts';
import type { CallQuote } from '../sale.ts';
import { usualPriceLimit } from '../per-call-sale.ts';
import { maxOutputLimit } from './chat-input.ts';
import type { Executor, JobEvent } from '../../jobs/executor.ts';
import { toFailedOutcome } from '../../jobs/provider-failure.ts';
import { madeBy } from '../../jobs/public-job.ts';
import type { Log } from '../../kit/log.ts';
import type { ServedRoute } from '../../providers/route-attempts.ts';
import type { RoutedText } from '../../providers/router.ts';
import type { Job } from '../../store/store.ts';

/** The most attempts to lower the output limit, because the balance may change before the hold. */
const openAttempts = 4;

/** The most output of a call that names no limit. */
const usualOutput = { chat: 16_384, responses: maxOutputLimit };

export interface TextJobTerms {
  maxOutputTokens: number;
  /** The price at admission: later changes do not change the job's cost. */
  price: Price;
}

/** The parts of a request, by how long they are kept. */
export interface TextJobParts {
  /** The job's work. It stays in this process, the only one that runs the job. */
  work: object;
  /** The part that the job's row keeps while the job runs. */
  request?: object;
  /** The part that stays readable after the job's end. */
  parameters?: object;
}

/** The services of an operation whose jobs run in a text model. */
export type TextServices = Pick<
  Services,
  'catalogs' | 'clock' | 'config' | 'fetchInput' | 'jobs' | 'store' | 'usageTags'
>;

export interface TextJobOrder {
  kind: 'chat' | 'responses';
  model: ModelConfig;
  /** An upper bound, see `promptTokensUpperBound`. */
  promptTokens: number;
  /** The caller's output limit. Null: the usual one, or as much as the balance allows. */
  outputLimit: number | null;
  toParts(terms: TextJobTerms): TextJobParts;
  idempotency: Idempotency | null;
}

/** Returns the least hold of a text job: for the bound of its prompt, and its output limit or one token. */
export const leastTextHold = (
  model: ModelConfig,
  { promptTokens, outputLimit }: Pick<TextJobOrder, 'promptTokens' | 'outputLimit'>,
): Nano =>
  chargeFor(model.price, {
    promptTokens,
    completionTokens: Math.min(outputLimit ?? 1, model.maxOutputTokens ?? Infinity),
  });

/**
 * Returns the most that a text job can cost: for the bound of its prompt, and for its output limit. If the caller set
 * none, the usual one is lowered to what clients of x402 pay at once.
 */
export const quoteText = (
  model: ModelConfig,
  { promptTokens, ...asked }: Pick<TextJobOrder, 'kind' | 'promptTokens' | 'outputLimit'>,
): CallQuote => {
  const { price } = model;
  const holdFor = (completionTokens: number): Nano => chargeFor(price, { promptTokens, completionTokens });
  const limit = effectiveLimit({ model, ...asked }, usualPriceLimit - holdFor(0));
  const most = holdFor(limit);
  return {
    most,
    parts: {
      model: model.sku,
      most_prompt_tokens: promptTokens,
      most_output_tokens: limit,
      most_usd: formatUsd(most),
      pricing: toPricing(price),
    },
  };
};

/**
 * Admits a text job that runs at once in this process. Holds the worst case: the bound of the prompt plus the output
 * limit. The SKU's limit lowers it, and the balance does when the caller set none. Throws AppError like `openPrepaid`,
 * and `insufficient_balance`.
 */
export const openTextJob = async (
  order: TextJobOrder,
  call: AccountCall,
  services: TextServices,
): Promise<OpenedJob> => {
  const { kind, model, promptTokens, outputLimit, toParts, idempotency } = order;
  const { caller, memory, requestId } = call;
  const { price } = model;
  const holdFor = (completionTokens: number): Nano => chargeFor(price, { promptTokens, completionTokens });

  let { available } = caller;
  for (let attempt = 1; ; attempt += 1) {
    const limit = effectiveLimit(order, available - holdFor(0));
    const hold = holdFor(limit);
    const { work, request, parameters } = toParts({ maxOutputTokens: limit, price });
    const given = {
      kind,
      model: model.sku,
      deadlineMs: services.config.chatDeadlineMs,
      request: request === undefined ? '' : JSON.stringify(request),
      parameters: parameters === undefined ? null : JSON.stringify(parameters),
    };
    const job = runningJob(call, given, services);
    const opened = await openPrepaid(services, call, { job, hold, idempotency });
    if (opened.outcome === 'opened')
      memory.holdUntil(services.jobs.start(opened.job, { ...work, requestId }).finished);
    memory.settleBody(textJobShare);
    if (opened.outcome !== 'insufficient')
      return { job: opened.job, isReplayed: opened.outcome === 'replayed' };
    available = opened.available;
    const least = holdFor(1);
    if (outputLimit !== null || attempt >= openAttempts || available < least)
      throw insufficient({ ...opened, needed: outputLimit === null && available < least ? least : hold });
  }
};

/** Returns the output limit that holds: the caller's, or the usual one if `budget` affords it; at most that of the SKU. */
const effectiveLimit = (
  {
    kind,
    model: { price, maxOutputTokens },
    outputLimit,
  }: Pick<TextJobOrder, 'kind' | 'model' | 'outputLimit'>,
  budget: Nano,
): number => {
  const affordable = price.unit === 'token' ? unitsAffordable(budget, price.output) : Infinity;
  const wanted = outputLimit ?? Math.min(usualOutput[kind], affordable);
  return Math.max(1, Math.min(wanted, maxOutputTokens ?? Infinity));
};

/** Returns the cost of `usage`. Throws TypeError for a price by the second. */
export const chargeFor = (
  price: Price,
  usage: Pick<TextUsage, 'promptTokens' | 'completionTokens'>,
): Nano => {
  switch (price.unit) {
    case 'call':
      return price.price;
    case 'token':
      return priceAtRates([
        { units: usage.promptTokens, rate: price.input },
        { units: usage.completionTokens, rate: price.output },
      ]);
    case 'second':
      throw new TypeError('text is not priced by the second');
  }
};

/** The tokens of a message in addition to its text: role and separators. */
const tokensPerMessage = 16;

/**
 * Returns an upper bound of the prompt's tokens in linear time: a token has at least one UTF-8 byte. It is far above the
 * true number for plain text, which makes the hold larger, but not the charge. `tokensPerMedia` is the bound of a picture,
 * and the minimum of a sound.
 */
export const promptTokensUpperBound = (
  request: { messages: TextMessage[]; options: JsonObject },
  tokensPerMedia: number,
): number => {
  let tokens = Buffer.byteLength(JSON.stringify(request.options));
  for (const { content, ...rest } of request.messages) {
    tokens += tokensPerMessage + Buffer.byteLength(JSON.stringify(rest));
    tokens += contentTokens(content, tokensPerMedia);
  }
  return tokens;
};

const contentTokens = (content: TextMessage['content'], tokensPerMedia: number): number =>
  Array.isArray(content)
    ? content.reduce((sum, part) => sum + partTokens(part, tokensPerMedia), 0)
    : Buffer.byteLength(content ?? '');

/** Speech has 750 bytes a second or more (Opus), a third more in base64, and models count 32 tokens a second or fewer. */
const audioLengthPerToken = 24;

const partTokens = (part: JsonObject, tokensPerMedia: number): number => {
  if (part['type'] === 'image_url') return tokensPerMedia;
  const text = JSON.stringify(part);
  return part['type'] === 'input_audio'
    ? Math.max(tokensPerMedia, Math.ceil(text.length / audioLengthPerToken))
    : Buffer.byteLength(text);
};

/** The work of a text job: the checked request and its terms. Never stored whole. */
export interface TextJobRequest extends TextJobTerms {
  messages: TextMessage[];
  options: JsonObject;
  /** True: the caller wants no stream. */
  isWhole: boolean;
  /** The id of the request that opened the job, for the log. */
  requestId?: string;
}

export interface TextEnd {
  finishReason: FinishReason;
  usage: TextUsage;
  isSandbox: boolean;
}

/** Gathers the pieces of one answer into the job's result. */
export interface TextAnswer {
  /** Returns the piece that readers get, if any. Throws RangeError when the answer is too long. */
  add(piece: JobEvent): JobEvent | null;
  /** Returns the result. */
  end(ended: TextEnd): Json;
  /** Returns the result that a failed job has nevertheless. */
  failed?(error: ErrorEnvelope): Json;
}

/** The longest answer, in UTF-16 units. It is far above 65,536 tokens of any sane text. */
export const longestAnswer = 8 * 1024 * 1024;

export interface RunTextJobOptions {
  routesFor: (sku: string) => RoutedText;
  costOf: Catalogs['costOf'];
  log: Log;
}

/** Runs text jobs: asks the SKU's routes, passes each piece to readers, and prices the use. */
export const createRunTextJob =
  <Request extends TextJobRequest>(
    { routesFor, costOf, log }: RunTextJobOptions,
    createAnswer: (job: Job, request: Request) => TextAnswer,
  ): Executor =>
  async (job, { work, signal, emit, served }) => {
    const request = work as Request;
    const { messages, options, isWhole, maxOutputTokens, price, requestId } = request;
    const answer = createAnswer(job, request);
    let route: ServedRoute = { provider: 'none', model: '', isSandbox: false };
    let finishReason: FinishReason | null = null;
    let usage: TextUsage | null = null;
    // A payment that is settled after the work waits no longer than this; what came later would be free.
    const endsAt = job.unpaidBy === null ? Infinity : performance.now() + job.deadlineAt - job.createdAt;
    const take = (event: TextEvent): void => {
      if (event.type === 'finish') finishReason = event.reason;
      else if (event.type === 'usage') ({ usage } = event);
      else {
        const piece = answer.add(event);
        if (piece !== null) emit(piece);
      }
    };
    try {
      await routesFor(job.model).answer(
        { messages, maxOutputTokens, options, isWhole, endsAt },
        {
          signal,
          emit: take,
          onRoute: (chosen) => {
            route = chosen;
            served(chosen.provider);
          },
        },
      );
    } catch (error) {
      const failed = toFailedOutcome(error, { log, job, requestId });
      return answer.failed === undefined ? failed : { ...failed, result: answer.failed(failed.error) };
    }
    if (finishReason === null || usage === null)
      throw new Error('the routes ended an answer without finish and usage');
    const result = answer.end({ finishReason, usage, isSandbox: route.isSandbox });
    const charge = chargeFor(price, usage);
    if (charge > job.hold)
      log.error(
        { jobId: job.id, charge: String(charge), hold: String(job.hold) },
        `a ${job.kind} job cost more than its hold`,
      );
    const cost = costOf(job.model, route);
    return {
      status: 'done',
      result,
      charge,
      cost: cost && chargeFor(cost, usage),
      media: [],
      metadata: { ...madeBy(route), bill: textUnits(price, usage) },
    };
  };

/** The units of a charge and their rate, for people and programs. */
export type ChargedUnits = { units: JsonObject; rate: JsonObject };

/** Returns what the charge of a text job is made of. Its metadata keeps that, because the rates may change later. */
const textUnits = (
  price: Price,
  usage: Pick<TextUsage, 'promptTokens' | 'completionTokens'>,
): ChargedUnits => {
  const { currency: _currency, ...rate } = toPricing(price);
  return price.unit === 'call'
    ? { units: { calls: 1 }, rate }
    : { units: { input_tokens: usage.promptTokens, output_tokens: usage.completionTokens }, rate };
};
