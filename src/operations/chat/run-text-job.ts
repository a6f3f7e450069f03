import type { Executor, JobEvent } from '../../jobs/executor.ts';
import { madeBy, toFailedOutcome } from '../../jobs/provider-failure.ts';
import type { ErrorEnvelope } from '../../kit/errors.ts';
import type { Json, JsonObject } from '../../kit/json.ts';
import type { Log } from '../../kit/log.ts';
import type { ServedRoute } from '../../providers/route-attempts.ts';
import type { RoutedText } from '../../providers/router.ts';
import type { FinishReason, TextEvent, TextMessage, TextUsage } from '../../providers/text/text-provider.ts';
import type { Job } from '../../store/store.ts';
import { textUnits } from '../account/charged-units.ts';
import { chargeFor, type TextJobTerms } from './open-text-job.ts';

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
  log: Log;
}

/** Runs text jobs: asks the SKU's routes, passes each piece to readers, and prices the use. */
export const createRunTextJob =
  <Request extends TextJobRequest>(
    { routesFor, log }: RunTextJobOptions,
    createAnswer: (job: Job, request: Request) => TextAnswer,
  ): Executor =>
  async (job, { work, signal, emit, served }) => {
    const request = work as Request;
    const { messages, options, isWhole, maxOutputTokens, price, requestId } = request;
    const answer = createAnswer(job, request);
    let route: Omit<ServedRoute, 'model'> = { provider: 'none', isSandbox: false };
    let finishReason: FinishReason | null = null;
    let usage: TextUsage | null = null;
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
        { messages, maxOutputTokens, options, isWhole },
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
    return {
      status: 'done',
      result,
      charge,
      media: [],
      metadata: { ...madeBy(route), bill: textUnits(price, usage) },
    };
  };
