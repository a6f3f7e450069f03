import { leaseMs } from '../jobs/job-queue.ts';
import { outliveOutage } from '../kit/repeat.ts';
import { isTerminal } from '../jobs/public-job.ts';
import { AppError } from '../kit/errors.ts';
import type { PayOutcome } from '../payments/sale/gate.ts';
import { WorkNotEndedError, type UptoSale } from '../payments/sale/scheme.ts';
import type { Job, Payment } from '../store/store.ts';
import type { Answer, StreamAnswer } from './answer.ts';
import type { AccountCall, Services } from './call.ts';
import { runPrepaid, type PrepaidOrder } from './prepaid.ts';

/** The longest deadline of a metered call. A payment is worked on for hardly longer (move-payment.ts). */
export const maxMeteredMs = 360_000;
/** After its deadline, a job that its process lost is ended when its lease has run out. */
const endMarginMs = leaseMs + 10_000;

/** A call that is not charged to the balance, but to its payment, which is settled when the call has ended. */
interface MeteredCall {
  sale: UptoSale;
  /** Resolves with an answer that is streamed while it is made. Never resolves for any other answer. */
  started: Promise<StreamAnswer>;
  /** Null as long as nothing is answered, and when an earlier call with the same proof was. */
  answer: () => Answer | null;
}

interface MeteredCaller {
  /** The call ends in this time. */
  deadlineMs: number;
  /** Returns the call as made by the account whose payment is verified. */
  toAccount: (payment: Payment) => Promise<AccountCall>;
}

export const meterCall = (
  order: PrepaidOrder,
  { deadlineMs, toAccount }: MeteredCaller,
  services: Services,
): MeteredCall => {
  const longestMs = deadlineMs + endMarginMs;
  const started = Promise.withResolvers<StreamAnswer>();
  let answered: Answer | null = null;
  return {
    started: started.promise,
    answer: () => answered,
    sale: {
      longestMs,
      produce: async (payment) => {
        const account = await toAccount(payment);
        const opened: { job?: Job } = {};
        const signal = AbortSignal.timeout(longestMs);
        let failure: unknown;
        try {
          answered = await runPrepaid(order, account, services, {
            onOpened: (job) => (opened.job = job),
          });
          if (answered.kind === 'stream') started.resolve(answered);
        } catch (error) {
          if (opened.job === undefined) throw error;
          failure = error;
        }
        const charge = await chargeOf(opened.job, {
          services,
          payment: payment.identity,
          timeoutMs: longestMs,
          signal,
        });
        // A call that was not answered in time may have ended since, and is answered then.
        if (charge === 0n && failure !== undefined) throw failure;
        return { result: null, charge };
      },
    },
  };
};

/**
 * Waits for the end of a job, also without its client and while the store does not answer. Throws WorkNotEndedError where
 * that does not tell what the job costs.
 */
const chargeOf = async (
  opened: Job | undefined,
  {
    services: { jobs, log },
    payment,
    timeoutMs,
    signal,
  }: { services: Services; payment: string; timeoutMs: number; signal: AbortSignal },
): Promise<bigint> => {
  if (opened === undefined) throw new Error('a call was answered without a job');
  const read = async (): Promise<bigint | null> => {
    const job = await jobs.wait({ job: opened, timeoutMs, signal });
    if (!isTerminal(job)) return null;
    // A repeat with the client's own key is answered with a job that is paid.
    return job.unpaidBy === payment ? job.charged : 0n;
  };
  try {
    const charge = await outliveOutage(read, {
      what: 'reading a pledged job',
      jobId: opened.id,
      log,
      signal,
    });
    if (charge !== null) return charge;
  } catch (error) {
    throw new WorkNotEndedError('a pledged job could not be read', { cause: error });
  }
  throw new WorkNotEndedError(`the pledged job ${opened.id} did not end in time`);
};

/** The last events of a chat and of a response. */
const ends: ReadonlySet<string> = new Set([
  '[DONE]',
  'response.completed',
  'response.incomplete',
  'response.failed',
]);

/**
 * Holds the end of a stream back until its payment is settled. The end has the receipt, or why there is none, in a
 * comment, as clients of OpenAI expect no other events: `x402-payment-response` and the value of that header.
 */
export const endWithReceipt = (answer: StreamAnswer, paying: Promise<PayOutcome>): StreamAnswer => {
  const settled = paying.then(
    ({ receipt }) => receipt?.headers['payment-response'],
    // What went wrong is in the log and in the payment's record. The buyer has the answer.
    (error: unknown) => (error instanceof AppError ? error.headers['payment-response'] : undefined),
  );
  return {
    ...answer,
    stream: (send) =>
      answer.stream(async (events) => {
        const at = events.findIndex(({ event, data }) => ends.has(event ?? data));
        if (at === -1) return send(events);
        await send(events.slice(0, at));
        const receipt = await settled;
        const comment = receipt === undefined ? {} : { comment: `x402-payment-response ${receipt}` };
        return send(events.slice(at).map((event, index) => (index === 0 ? { ...event, ...comment } : event)));
      }),
  };
};
