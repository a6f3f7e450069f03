import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import type { RoutedText } from '../../providers/router.ts';
import type { FinishReason, TextUsage } from '../../providers/text/text-provider.ts';
import { chargeFor } from '../chat/chat-job.ts';
import type { Executor, JobEvent } from '../../jobs/executor.ts';
import { toFailedOutcome } from '../../jobs/provider-failure.ts';
import { asJson, toFailedResponse, toFinishedResponse, type ResponseJobRequest } from './response-object.ts';
import { createResponseOutput } from './response-output.ts';

export interface RunResponsesOptions {
  routesFor: (sku: string) => RoutedText;
  clock: Clock;
  log: Log;
}

/** Runs responses jobs: streams from the SKU's routes, like chat. The result is the response object, also of a failed job. */
export const createRunResponses =
  ({ routesFor, clock, log }: RunResponsesOptions): Executor =>
  async (job, { work, signal, emit }) => {
    const { messages, options, maxOutputTokens, price, shown } = work as ResponseJobRequest;
    const output = createResponseOutput(job.id);
    let route = { provider: 'none', isSandbox: false };
    let finishReason: FinishReason | null = null;
    let usage: TextUsage | null = null;
    try {
      const events = routesFor(job.model).stream(
        { messages, maxOutputTokens, options },
        { signal, onRoute: (chosen) => (route = chosen) },
      );
      for await (const event of events) {
        if (event.type === 'finish') finishReason = event.reason;
        else if (event.type === 'usage') ({ usage } = event);
        else {
          const piece = toPiece(event);
          if (piece === null) continue;
          output.add(piece);
          emit(piece);
        }
      }
    } catch (error) {
      log.warn({ err: error, jobId: job.id, provider: route.provider }, 'a response failed upstream');
      const failed = toFailedOutcome(error);
      return { ...failed, result: asJson(toFailedResponse(job, shown, failed.error)) };
    }
    if (finishReason === null || usage === null)
      throw new Error('the routes ended an answer without finish and usage');
    const incomplete = incompleteReason(finishReason);
    output.end(incomplete === null ? 'completed' : 'incomplete');
    const charge = chargeFor(price, usage);
    if (charge > job.hold)
      log.error(
        { jobId: job.id, charge: String(charge), hold: String(job.hold) },
        'a response cost more than its hold',
      );
    return {
      status: 'done',
      result: asJson(
        toFinishedResponse(job, shown, { output: output.items(), usage, incomplete, now: clock.now() }),
      ),
      charge,
      media: [],
      metadata: { sandbox: route.isSandbox, provider: route.provider },
    };
  };

/** Removes extras (log probabilities, annotations, audio), which a response cannot carry. */
const toPiece = (event: JobEvent): JobEvent | null => {
  if (event.type !== 'content') return event;
  return event.text === '' ? null : { type: 'content', text: event.text };
};

const incompleteReason = (reason: FinishReason): 'max_output_tokens' | 'content_filter' | null => {
  switch (reason) {
    case 'length':
      return 'max_output_tokens';
    case 'content_filter':
      return reason;
    default:
      return null;
  }
};
