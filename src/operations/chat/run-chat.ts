import type { Executor } from '../../jobs/executor.ts';
import { createRunTextJob, type RunTextJobOptions, type TextJobRequest } from '../text/run-text-job.ts';
import { createChatAccumulator, toWireUsage } from './chat-completion.ts';

export interface ChatJobRequest extends TextJobRequest {
  conversationId: string | null;
}

/** Runs chat jobs. The result is the chat completion. */
export const createRunChat = (options: RunTextJobOptions): Executor =>
  createRunTextJob<ChatJobRequest>(options, (job, request) => {
    const answer = createChatAccumulator({ isLegacyCall: request.options['functions'] !== undefined });
    return {
      add: (event) => {
        const kept = answer.add(event);
        return kept.type === 'finish' || kept.type === 'usage' ? null : kept;
      },
      end: (isSandbox) => {
        const complete = answer.complete();
        if (complete === null) return null;
        const { message, logprobs, finishReason, usage } = complete;
        const result = {
          id: `chatcmpl-${job.id}`,
          object: 'chat.completion',
          created: Math.floor(job.createdAt / 1000),
          model: job.model,
          choices: [{ index: 0, message, finish_reason: finishReason, logprobs }],
          usage: toWireUsage(usage),
          conversation_id: request.conversationId,
          ...(isSandbox ? { metadata: { sandbox: true } } : {}),
        };
        return { result, usage };
      },
    };
  });
