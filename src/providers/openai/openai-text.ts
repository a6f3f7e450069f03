import { ProviderError } from '../provider-error.ts';
import type { TextCall, TextEvent, TextProvider, TextRequest, TextUsage } from '../text/text-provider.ts';
import { promptText } from '../tokens/prompt-text.ts';
import type { TokenCounter } from '../tokens/token-counter.ts';
import { createAnswerPace, longestSilenceMs } from './answer-pace.ts';
import { createChunkReader } from './chunk-reader.ts';
import type { OpenAiClient } from './openai-client.ts';
import { limitField, toRequestBody } from './request-body.ts';

export interface OpenAiTextOptions {
  client: OpenAiClient;
  /** Counts the tokens of the prompt and the answer when the upstream reports no usage. */
  counter: TokenCounter;
}

/** Answers that may be bulky are streamed, so that the part beyond their limits is never kept. */
const bulkyOptions = ['logprobs', 'audio'];
/** An answer in one piece is late after this many times the known time of its model, and the usual time. */
const slowerThanKnown = 4;

const isRefusal = (error: unknown): boolean =>
  error instanceof ProviderError && error.failure === 'fatal' && error.code === 'invalid_parameter';

/** Text by chat completions of an OpenAI-compatible upstream: as a stream, or in one piece where that is safe. */
export const createOpenAiText = ({ client, counter }: OpenAiTextOptions): TextProvider => {
  const pace = createAnswerPace();
  const limit = limitField(client.baseUrl);

  const mayBeWhole = (request: TextRequest): boolean =>
    request.isWhole &&
    pace.longestMs(request) <= longestSilenceMs &&
    !bulkyOptions.some((name) => Boolean(request.options[name]));

  const answer = async (
    request: TextRequest,
    { signal, emit }: TextCall,
    isStreamed: boolean,
  ): Promise<void> => {
    const reader = createChunkReader();
    const sent: string[] = [];
    const tell = (events: readonly TextEvent[]): void => {
      for (const event of events) {
        sent.push(textOf(event));
        emit(event);
      }
    };
    const begunAt = performance.now();
    const body = JSON.stringify(toRequestBody(request, { limitField: limit, isStreamed }));
    await client.complete(
      '/chat/completions',
      { body, signal },
      {
        isStreamed,
        silenceMs: isStreamed ? 0 : slowerThanKnown * pace.longestMs(request),
        onEvent: (value) => tell(reader.read(value)),
        onWhole: (value) => tell(reader.readWhole(value)),
      },
    );
    const ms = performance.now() - begunAt;
    signal.throwIfAborted();
    const reason = reader.finishReason();
    if (reason === null)
      throw new ProviderError('the upstream ended its answer without a finish reason', {
        failure: 'ambiguous',
      });
    emit({ type: 'finish', reason });
    const usage = reader.usage() ?? (await countUsage({ request, sent, counter, signal }));
    pace.learn(request.model, { ms, tokens: usage.completionTokens });
    emit({ type: 'usage', usage });
  };

  return {
    answer: async (request, call) => {
      const isWhole = mayBeWhole(request);
      try {
        await answer(request, call, !isWhole);
      } catch (error) {
        pace.forget(request.model);
        if (!isWhole || !isRefusal(error)) throw error;
        // Some models refuse all but streams. A refused request did nothing, so it may be sent again.
        await answer(request, call, true);
        pace.mustStream(request.model);
      }
    },
  };
};

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
