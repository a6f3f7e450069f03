import type { Executor, JobOutcome } from '../jobs/executor.ts';
import { AppError, toAppError } from '../kit/errors.ts';
import type { JsonObject } from '../kit/json.ts';
import { formatUsd, type Nano } from '../kit/money.ts';
import type { Log } from '../kit/log.ts';
import { logFailure } from '../kit/write-answer.ts';
import { longestAnswerMs } from '../payments/sale/scheme.ts';
import type { LiveJob } from '../jobs/job-runner.ts';
import { createMoreUri, jsonAnswer } from './answer.ts';
import type { AccountCall, Idempotency, Services } from './call.ts';
import { billHeaders, keptAnswer, waitForEnd } from './jobs/job-answer.ts';
import { insufficient, openPrepaid, runningJob, type PrepaidOpened } from './prepaid.ts';
import type { AnswerSale, BalanceAnswerSale, PrepaidSale } from './sale.ts';
import { replay } from './sell-answer.ts';

export interface MadeAnswer {
  result: JsonObject;
  charge: Nano;
  isSandbox: boolean;
}

/** The work of a job that makes an answer. It stays in the process that opened the job. */
interface AnswerWork {
  produce(signal: AbortSignal): Promise<MadeAnswer>;
}

/** Runs the jobs that make answers. */
export const createRunAnswer =
  ({ log }: { log: Log }): Executor =>
  async (job, { work, signal }): Promise<JobOutcome> => {
    try {
      const { produce } = work as AnswerWork;
      const { result, charge, isSandbox } = await produce(
        AbortSignal.any([signal, AbortSignal.timeout(longestAnswerMs)]),
      );
      return { status: 'done', result, charge, media: [], metadata: { sandbox: isSandbox } };
    } catch (thrown) {
      signal.throwIfAborted();
      const error = toAppError(thrown);
      logFailure(log, error, { what: `the job of ${job.model}`, facts: { jobId: job.id } });
      return { status: 'failed', error: error.toEnvelope(), metadata: {} };
    }
  };

/** Sells the answers of the operation `name` from a balance, too. */
export const soldFromBalance = <Input>(name: string, sale: AnswerSale<Input>): BalanceAnswerSale<Input> => ({
  ...sale,
  kind: 'balanceAnswer',
  prepaid: toPrepaid(name, sale),
});

/** Opens the job of an answer. `hold`: its price; zero if the `payment` of the call pays for it. */
const openAnswer = (
  { name, hold, idempotency }: { name: string; hold: Nano; idempotency: Idempotency | null },
  call: AccountCall,
  services: Services,
): Promise<PrepaidOpened> => {
  const isBudgeted = hold > 0n && call.caller.limits?.isBudgeted === true;
  const job = runningJob(
    call,
    { kind: 'search', model: name, deadlineMs: longestAnswerMs, isBudgeted },
    services,
  );
  return openPrepaid(services, call, { job, hold, idempotency });
};

/**
 * Opens the job of a call that is paid by its own payment, which is verified. So no other call with the same idempotency
 * key is charged. Returns null, and opens none, if the key has a job. Throws AppError.
 */
export const openPaidAnswer = async (
  { name, idempotency, produce }: AnswerWork & { name: string; idempotency: Idempotency | null },
  call: AccountCall,
  services: Services,
): Promise<LiveJob | null> => {
  const opened = await openAnswer({ name, hold: 0n, idempotency }, call, services);
  if (opened.outcome !== 'opened') return null;
  const work: AnswerWork = { produce };
  return services.jobs.start(opened.job, work);
};

const toPrepaid = <Input>(name: string, sale: AnswerSale<Input>): PrepaidSale<Input> => ({
  kind: 'prepaid',
  waits: true,
  idempotentPart: (input) => input,

  open: async (input, call, services, { idempotency }) => {
    const { caller, memory } = call;
    const refusal = refusalOf(call, sale.isSandbox(services, null));
    if (refusal !== null) throw new AppError('insufficient_balance', `${refusal}. Nothing was charged.`);
    const { price } = sale.quote(input, services, caller);
    const opened = await openAnswer({ name, hold: price, idempotency }, call, services);
    if (opened.outcome === 'insufficient') throw insufficient({ ...opened, needed: price });
    if (opened.outcome === 'opened') {
      const work: AnswerWork = {
        produce: async (signal) => {
          const result = await sale.produce(input, services, signal);
          const isSandbox = sale.isSandbox(services, result);
          if (refusalOf(call, isSandbox) !== null) throw haveChanged();
          return { result, isSandbox, charge: sale.isFree(result, services) ? 0n : price };
        },
      };
      memory.holdUntil(services.jobs.start(opened.job, work).finished);
    }
    return { job: opened.job, isReplayed: opened.outcome === 'replayed' };
  },

  answer: async ({ job }, _input, call, services) => {
    const ended = await waitForEnd({ job, timeoutMs: longestAnswerMs }, call, services);
    const headers = { 'cache-control': 'no-store', ...billHeaders(ended, services.config) };
    const goesOn =
      'This takes longer than this request may wait; it goes on. Send the same request with the same Idempotency-Key to ' +
      'get its answer. Without one it may be charged twice.';
    const result = keptAnswer(ended, headers, goesOn);
    const body = ended.made ?? (await replay(sale, JSON.parse(result), { services, signal: call.signal }));
    const { toText } = sale;
    const price = ended.charged === 0n ? null : `$${formatUsd(ended.charged)}`;
    const moreUri = createMoreUri(services.config, { operation: ended.model, id: ended.id });
    return jsonAnswer(body, {
      headers,
      isSandbox: sale.isSandbox(services, body),
      ...(toText === undefined ? {} : { toText: () => toText(body, { price, moreUri }) }),
    });
  },
});

/** Says why this money, by this key, does not buy answers of this kind; null: it does. */
export const refusalOf = ({ caller }: AccountCall, isSandbox: boolean): string | null => {
  if ((caller.limits?.models ?? null) !== null) return 'This key buys its models alone from the balance';
  if (caller.isSandbox === isSandbox) return null;
  return isSandbox
    ? 'Generated answers cost sandbox credit only, and this account holds real money'
    : 'This account holds sandbox credit, which buys generated answers only';
};

/** Refuses an answer of another kind than was admitted, as when profiles were imported meanwhile. */
const haveChanged = (): AppError =>
  new AppError('upstream_unavailable', 'What is sold has just changed. Nothing was charged. Try again.');
