import type { Executor, JobOutcome } from '../jobs/executor.ts';
import { isTerminal } from '../jobs/public-job.ts';
import { leaseMs } from '../jobs/job-queue.ts';
import { AppError, toAppError } from '../kit/errors.ts';
import { newId } from '../kit/ids.ts';
import type { JsonObject } from '../kit/json.ts';
import { formatUsd, type Nano } from '../kit/money.ts';
import type { Log } from '../kit/log.ts';
import { logFailure } from '../kit/write-answer.ts';
import type { KnownJob } from '../jobs/job-runner.ts';
import type { Answer } from './answer.ts';
import { jsonAnswer } from './answer.ts';
import type { AccountCall, Services } from './call.ts';
import { billHeaders, toJobError, waitForEnd } from './jobs/job-answer.ts';
import { insufficient, openPrepaid } from './prepaid.ts';
import type { AnswerSale, BalanceAnswerSale, PrepaidSale } from './sale.ts';
import { replay } from './sell-answer.ts';

/** An answer that is made for longer than this is not charged. */
const deadlineMs = 60_000;

/** The work of a job that makes an answer. It stays in the process that opened the job. */
interface AnswerWork {
  produce(signal: AbortSignal): Promise<{ result: JsonObject; charge: Nano; isSandbox: boolean }>;
}

/** Runs the jobs that make answers. */
export const createRunAnswer =
  ({ log }: { log: Log }): Executor =>
  async (job, { work, signal }): Promise<JobOutcome> => {
    try {
      const { produce } = work as AnswerWork;
      const { result, charge, isSandbox } = await produce(
        AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]),
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

const toPrepaid = <Input>(name: string, sale: AnswerSale<Input>): PrepaidSale<Input> => ({
  kind: 'prepaid',
  waits: true,
  idempotentPart: (input) => input,

  open: async (input, call, services, { idempotency }) => {
    const { caller, payment, memory } = call;
    const refusal = refusalOf(call, sale.isSandbox(services, null));
    if (refusal !== null) throw new AppError('insufficient_balance', `${refusal}. Nothing was charged.`);
    const { price } = sale.quote(input, services, caller);
    const now = services.clock.now();
    const opened = await openPrepaid(services, {
      job: {
        id: newId(),
        accountId: caller.accountId,
        keyId: caller.keyId,
        kind: 'search',
        model: name,
        status: 'running',
        leaseOwner: services.jobs.owner,
        leaseUntil: now + leaseMs,
        maxAttempts: 1,
        deadlineAt: now + deadlineMs,
        request: '',
        customData: null,
        parameters: null,
        webhookUrl: null,
        isBudgeted: caller.limits?.isBudgeted === true,
      },
      hold: price,
      payment,
      idempotency,
    });
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
    const ended = await waitForEnd({ job, timeoutMs: deadlineMs }, call, services);
    const headers = { 'cache-control': 'no-store', ...billHeaders(ended, services.config) };
    if (!isTerminal(ended))
      throw new AppError(
        'request_timeout',
        'This takes longer than this request may wait; it goes on. Send the same request with the same Idempotency-Key ' +
          'to get its answer. Without one it may be charged twice.',
        { headers: { ...headers, 'x-should-retry': 'false' } },
      );
    if (ended.status === 'failed' || ended.result === null) throw toJobError(ended, headers);
    return toAnswer(ended, { sale, headers, call, services });
  },
});

const toAnswer = async <Input>(
  job: KnownJob,
  {
    sale,
    headers,
    call: { signal },
    services,
  }: { sale: AnswerSale<Input>; headers: Record<string, string>; call: AccountCall; services: Services },
): Promise<Answer> => {
  const body = job.made ?? (await replay(sale, JSON.parse(job.result ?? '{}'), { services, signal }));
  const { toText } = sale;
  const price = job.charged === 0n ? null : `$${formatUsd(job.charged)}`;
  return jsonAnswer(body, {
    headers,
    isSandbox: sale.isSandbox(services, body),
    ...(toText === undefined ? {} : { toText: () => toText(body, price) }),
  });
};

/** Says why this money, by this key, does not buy answers of this kind; null: it does. */
const refusalOf = ({ caller }: AccountCall, isSandbox: boolean): string | null => {
  if ((caller.limits?.models ?? null) !== null) return 'This key buys its models alone from the balance';
  if (caller.isSandbox === isSandbox) return null;
  return isSandbox
    ? 'Generated answers cost sandbox credit only, and this account holds real money'
    : 'This account holds sandbox credit, which buys generated answers only';
};

/** Refuses an answer of another kind than was admitted, as when profiles were imported meanwhile. */
const haveChanged = (): AppError =>
  new AppError('upstream_unavailable', 'What is sold has just changed. Nothing was charged. Try again.');
