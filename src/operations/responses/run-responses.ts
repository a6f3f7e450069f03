import type { Executor } from '../../jobs/executor.ts';
import type { Clock } from '../../kit/clock.ts';
import type { FinishReason, TextUsage } from '../../providers/text/text-provider.ts';
import { createRunTextJob, type RunTextJobOptions } from '../text/run-text-job.ts';
import { asJson, toFailedResponse, toFinishedResponse, type ResponseJobRequest } from './response-object.ts';
import { createResponseOutput } from './response-output.ts';

/** Runs responses jobs. The result is the response object, also of a failed job. */
export const createRunResponses = ({ clock, ...options }: RunTextJobOptions & { clock: Clock }): Executor =>
  createRunTextJob<ResponseJobRequest>(options, (job, { shown }) => {
    const output = createResponseOutput(job.id);
    let finishReason: FinishReason | null = null;
    let usage: TextUsage | null = null;
    return {
      add: (event) => {
        if (event.type === 'finish') finishReason = event.reason;
        else if (event.type === 'usage') ({ usage } = event);
        else if (event.type !== 'content' || event.text !== '') {
          // A response cannot carry extras (log probabilities, annotations, audio).
          const piece = event.type === 'content' ? { type: event.type, text: event.text } : event;
          output.add(piece);
          return piece;
        }
        return null;
      },
      end: () => {
        if (finishReason === null || usage === null) return null;
        const incomplete = incompleteReason(finishReason);
        output.end(incomplete === null ? 'completed' : 'incomplete');
        const ended = { output: output.items(), usage, incomplete, now: clock.now() };
        return { result: asJson(toFinishedResponse(job, shown, ended)), usage };
      },
      failed: (error) => asJson(toFailedResponse(job, shown, error)),
    };
  });

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
