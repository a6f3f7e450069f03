import type { Executor } from '../../jobs/executor.ts';
import type { Clock } from '../../kit/clock.ts';
import { asJson, toFailedResponse, toFinishedResponse, readShown } from './response-object.ts';
import { createResponseOutput } from './response-output.ts';
import { createRunTextJob, type RunTextJobOptions } from '../chat/text-job.ts';

/** Runs responses jobs. The result is the response object, also of a failed job. */
export const createRunResponses = ({ clock, ...options }: RunTextJobOptions & { clock: Clock }): Executor =>
  createRunTextJob(options, (job) => {
    const shown = readShown(job);
    const output = createResponseOutput(job.id);
    return {
      add: (event) => {
        if (event.type === 'content' && event.text === '') return null;
        // A response cannot carry extras (log probabilities, annotations, audio).
        const piece = event.type === 'content' ? { type: event.type, text: event.text } : event;
        output.add(piece);
        return piece;
      },
      end: ({ finishReason, usage }) => {
        const incomplete =
          finishReason === 'length'
            ? 'max_output_tokens'
            : finishReason === 'content_filter'
              ? finishReason
              : null;
        output.end(incomplete === null ? 'completed' : 'incomplete');
        return asJson(
          toFinishedResponse(job, shown, { output: output.items(), usage, incomplete, now: clock.now() }),
        );
      },
      failed: (error) => asJson(toFailedResponse(job, shown, error)),
    };
  });
