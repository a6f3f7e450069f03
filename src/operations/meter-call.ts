import { isTerminal } from '../jobs/public-job.ts';
import { AppError } from '../kit/errors.ts';
import type { PayOutcome } from '../purchases/x402/x402-gate.ts';
import type { UptoSale } from '../purchases/x402/x402-upto.ts';
import type { Payment } from '../store/store.ts';
import type { AccountCall, Answer, Services, StreamAnswer } from './operation.ts';
import { findEarlier, runPrepaid, type PrepaidOrder } from './prepaid-call.ts';

/** A payment is worked on for no longer (move-payment.ts). */
export const maxMeteredMs = 360_000;

/** A call that is not charged to the balance, but to its payment, which is settled when the call has ended. */
interface MeteredCall {
  sale: UptoSale;
  /** Resolves with an answer that is streamed while it is made. Never resolves for any other answer. */
  started: Promise<StreamAnswer>;
  /** Null as long as nothing is answered, and when an earlier call with the same proof was. */
  answer: () => Answer | null;
}

/** `toAccount` returns the call as that of the account whose payment is verified. */
export const meterCall = (
  order: PrepaidOrder,
  toAccount: (payment: Payment) => Promise<AccountCall>,
  services: Services,
): MeteredCall => {
  const timeoutMs = services.config.chatDeadlineMs;
  const started = Promise.withResolvers<StreamAnswer>();
  /** The work goes on without its client. */
  const { signal } = new AbortController();
  let answered: Answer | null = null;
  return {
    started: started.promise,
    answer: () => answered,
    sale: {
      longestMs: timeoutMs,
      produce: async (payment) => {
        const account = await toAccount(payment);
        try {
          answered = await runPrepaid(order, account, services, payment.identity);
          if (answered.kind === 'stream') started.resolve(answered);
        } catch (error) {
          if (!account.signal.aborted) throw error;
        }
        const opened = await findEarlier(order, account, services);
        if (opened === null) throw new AppError('upstream_error', 'The call failed. Nothing was charged.');
        const job = isTerminal(opened)
          ? opened
          : await services.jobs.wait({ job: opened, timeoutMs, signal });
        // A repeat with the client's own key is answered with the job of another payment, which pays for it.
        const payer = await services.store.findPaymentOfJob(job.id);
        const isOwn = payer === null || payer.identity === payment.identity;
        return { result: '{}', charge: isOwn ? job.charged : 0n };
      },
    },
  };
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
