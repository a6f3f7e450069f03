import type { Executor, JobEvent } from '../../jobs/executor.ts';
import { toFailedOutcome } from '../../jobs/provider-failure.ts';
import type { ErrorEnvelope } from '../../kit/errors.ts';
import type { Json, JsonObject } from '../../kit/json.ts';
import type { Log } from '../../kit/log.ts';
import type { RoutedText } from '../../providers/router.ts';
import type { TextEvent, TextMessage, TextUsage } from '../../providers/text/text-provider.ts';
import type { Job } from '../../store/store.ts';
import { chargeFor, type FrozenPrice } from '../chat/chat-job.ts';

/** The work of a text job: the checked request and its terms. Never stored whole. */
export interface TextJobRequest {
  messages: TextMessage[];
  options: JsonObject;
  maxOutputTokens: number;
  price: FrozenPrice;
}

/** Gathers the events of one answer into the job's result. */
export interface TextAnswer {
  /** Returns the piece that readers get, if any. Throws RangeError when the answer is too long. */
  add(event: TextEvent): JobEvent | null;
  /** Returns null until both finish and usage were added. */
  end(isSandbox: boolean): { result: Json; usage: TextUsage } | null;
  /** Returns the result that a failed job has nevertheless. */
  failed?(error: ErrorEnvelope): Json;
}

export interface RunTextJobOptions {
  routesFor: (sku: string) => RoutedText;
  log: Log;
}

/** Runs text jobs: streams from the SKU's routes, tells readers each piece, prices what was used. */
export const createRunTextJob =
  <Request extends TextJobRequest>(
    { routesFor, log }: RunTextJobOptions,
    createAnswer: (job: Job, request: Request) => TextAnswer,
  ): Executor =>
  async (job, { work, signal, emit }) => {
    const request = work as Request;
    const { messages, options, maxOutputTokens, price } = request;
    const answer = createAnswer(job, request);
    let route = { provider: 'none', isSandbox: false };
    try {
      const events = routesFor(job.model).stream(
        { messages, maxOutputTokens, options },
        { signal, onRoute: (chosen) => (route = chosen) },
      );
      for await (const event of events) {
        const piece = answer.add(event);
        if (piece !== null) emit(piece);
      }
    } catch (error) {
      log.warn({ err: error, jobId: job.id, provider: route.provider }, `a ${job.kind} job failed upstream`);
      const failed = toFailedOutcome(error);
      return answer.failed === undefined ? failed : { ...failed, result: answer.failed(failed.error) };
    }
    const ended = answer.end(route.isSandbox);
    if (ended === null) throw new Error('the routes ended an answer without finish and usage');
    const charge = chargeFor(price, ended.usage);
    if (charge > job.hold)
      log.error(
        { jobId: job.id, charge: String(charge), hold: String(job.hold) },
        `a ${job.kind} job cost more than its hold`,
      );
    return {
      status: 'done',
      result: ended.result,
      charge,
      media: [],
      metadata: { sandbox: route.isSandbox, provider: route.provider },
    };
  };
