import type { JsonObject } from '../../kit/json.ts';
import type { Log } from '../../kit/log.ts';
import type { RoutedText } from '../../providers/router.ts';
import type { Job } from '../../store/store.ts';
import { createChatAccumulator, toWireUsage, type CompleteChat } from './chat-completion.ts';
import { chargeFor, type ChatJobRequest } from './chat-job.ts';
import type { Executor } from '../../jobs/executor.ts';
import { toFailedOutcome } from '../../jobs/provider-failure.ts';

export interface RunChatOptions {
  routesFor: (sku: string) => RoutedText;
  log: Log;
}

/** Runs chat jobs: streams from the SKU's routes, tells readers each piece, prices what was used. */
export const createRunChat =
  ({ routesFor, log }: RunChatOptions): Executor =>
  async (job, { work, signal, emit }) => {
    const request = work as ChatJobRequest;
    const answer = createChatAccumulator({ isLegacyCall: request.options['functions'] !== undefined });
    let route = { provider: 'none', isSandbox: false };
    try {
      const events = routesFor(job.model).stream(
        { messages: request.messages, maxOutputTokens: request.maxOutputTokens, options: request.options },
        { signal, onRoute: (chosen) => (route = chosen) },
      );
      for await (const event of events) {
        const kept = answer.add(event);
        if (kept.type !== 'finish' && kept.type !== 'usage') emit(kept);
      }
    } catch (error) {
      log.warn({ err: error, jobId: job.id, provider: route.provider }, 'a chat job failed upstream');
      return toFailedOutcome(error);
    }
    const complete = answer.complete();
    if (complete === null) throw new Error('the routes ended an answer without finish and usage');
    const charge = chargeFor(request.price, complete.usage);
    if (charge > job.hold)
      log.error(
        { jobId: job.id, charge: String(charge), hold: String(job.hold) },
        'a chat cost more than its hold',
      );
    return {
      status: 'done',
      result: toCompletion(job, request, complete, route.isSandbox),
      charge,
      media: [],
      metadata: { sandbox: route.isSandbox, provider: route.provider },
    };
  };

const toCompletion = (
  job: Job,
  request: ChatJobRequest,
  { message, logprobs, finishReason, usage }: CompleteChat,
  isSandbox: boolean,
): JsonObject => ({
  id: `chatcmpl-${job.id}`,
  object: 'chat.completion',
  created: Math.floor(job.createdAt / 1000),
  model: job.model,
  choices: [{ index: 0, message, finish_reason: finishReason, logprobs }],
  usage: toWireUsage(usage),
  conversation_id: request.conversationId,
  ...(isSandbox ? { metadata: { sandbox: true } } : {}),
});
