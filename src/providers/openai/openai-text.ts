import { ProviderError } from '../provider-error.ts';
import type { TextEvent, TextProvider, TextRequest, TextUsage } from '../text/text-provider.ts';
import { promptText } from '../tokens/prompt-text.ts';
import type { TokenCounter } from '../tokens/token-counter.ts';
import { createChunkReader } from './chunk-reader.ts';
import type { OpenAiClient } from './openai-client.ts';
import { toRequestBody } from './request-body.ts';

export interface OpenAiTextOptions {
  client: OpenAiClient;
  /** Counts the tokens of the prompt and the answer when the upstream reports no usage. */
  counter: TokenCounter;
}

/** Text by streaming chat completions of an OpenAI-compatible upstream. */
export const createOpenAiText = ({ client, counter }: OpenAiTextOptions): TextProvider => ({
  stream: async function* (request, { signal }) {
    const reader = createChunkReader();
    const sent: string[] = [];
    const body = JSON.stringify(toRequestBody(request, client.baseUrl));
    for await (const chunk of client.stream('/chat/completions', { body, signal })) {
      for (const event of reader.read(chunk)) {
        sent.push(textOf(event));
        yield event;
      }
    }
    signal.throwIfAborted();
    const reason = reader.finishReason();
    if (reason === null)
      throw new ProviderError('the upstream ended its answer without a finish reason', {
        failure: 'ambiguous',
      });
    yield { type: 'finish', reason };
    yield { type: 'usage', usage: reader.usage() ?? (await countUsage({ request, sent, counter, signal })) };
  },
});

const textOf = (event: TextEvent): string => {
  if (event.type === 'tool_call') return `${event.name ?? ''}${event.arguments}`;
  return 'text' in event ? event.text : '';
};

const countUsage = async ({
  request,
  sent,
  counter,
  signal,
}: {
  request: TextRequest;
  sent: readonly string[];
  counter: TokenCounter;
  signal: AbortSignal;
}): Promise<TextUsage> => {
  const prompt = promptText(request);
  const [promptTokens = 0, completionTokens = 0] = await counter.count([prompt.text, sent.join('')], signal);
  return {
    promptTokens: promptTokens + prompt.extraTokens,
    completionTokens: Math.min(completionTokens, request.maxOutputTokens),
    cachedTokens: null,
    reasoningTokens: null,
  };
};
