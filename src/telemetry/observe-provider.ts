import { SpanKind, type Attributes } from '@opentelemetry/api';
import { ProviderError } from '../providers/provider-error.ts';
import type { Provider } from '../providers/provider.ts';
import type { TextEvent, TextUsage } from '../providers/text/text-provider.ts';
import type { Metering } from './metering.ts';
import { spanAttributes as name } from './names.ts';
import type { OpenSpan, Tracing } from './tracing.ts';

interface Parts {
  tracing: Tracing;
  metering: Metering;
}

/** Watches each attempt at a provider: a span, its duration, its failure; for text its tokens and its first piece. */
export const observeProvider = (
  provider: string,
  { chat, image, video, ...rest }: Provider,
  parts: Parts,
): Provider => {
  const watch = createWatch(provider, parts);
  return {
    ...rest,
    ...(chat === undefined
      ? {}
      : {
          chat: {
            answer: (request, call) => {
              const { model, maxOutputTokens, isWhole } = request;
              const asked = { [name.maxTokens]: maxOutputTokens, [name.isStream]: !isWhole };
              return watch('chat', model, asked, async (span, facts) => {
                const text = createTextWatch(parts.metering, facts, { span, isStream: !isWhole });
                await chat.answer(request, { ...call, emit: (event) => (text(event), call.emit(event)) });
              });
            },
          },
        }),
    ...(image === undefined
      ? {}
      : {
          image: {
            generate: (request, options) =>
              watch('generate_content', request.model, {}, () => image.generate(request, options)),
          },
        }),
    ...(video === undefined
      ? {}
      : {
          video: {
            ...video,
            start: (request, options) =>
              watch('generate_content', request.model, {}, () => video.start(request, options)),
          },
        }),
  };
};

const createWatch =
  (provider: string, { tracing, metering }: Parts) =>
  async <T>(
    operation: 'chat' | 'generate_content',
    model: string,
    asked: Attributes,
    work: (span: OpenSpan, facts: Attributes) => Promise<T>,
  ): Promise<T> => {
    const facts = {
      [name.genAiOperation]: operation,
      [name.provider]: provider,
      [name.requestModel]: model,
    };
    const span = tracing.start(`${operation} ${model}`, {
      kind: SpanKind.CLIENT,
      attributes: { ...facts, ...asked },
    });
    const startedAt = performance.now();
    const end = (errorType?: string): void => {
      span.end(errorType);
      metering.record('providerCalls', (performance.now() - startedAt) / 1_000, {
        ...facts,
        ...(errorType === undefined ? {} : { [name.errorType]: errorType }),
      });
    };
    try {
      const answer = await tracing.run(span.context, () => work(span, facts));
      end();
      return answer;
    } catch (error) {
      if (error instanceof ProviderError) {
        const { failure, code } = error;
        metering.record('providerErrors', 1, {
          [name.provider]: provider,
          'causeway.failure': failure,
          [name.errorType]: code,
        });
        end(code);
      } else end('canceled');
      throw error;
    }
  };

/** Returns a function that takes each event of an answer. */
const createTextWatch = (
  metering: Metering,
  facts: Attributes,
  { span, isStream }: { span: OpenSpan; isStream: boolean },
): ((event: TextEvent) => void) => {
  const startedAt = performance.now();
  let isFirst = isStream;
  return (event) => {
    if (isFirst) {
      isFirst = false;
      const seconds = (performance.now() - startedAt) / 1_000;
      metering.record('firstChunks', seconds, facts);
      span.set({ [name.firstChunk]: seconds });
    }
    if (event.type === 'finish') span.set({ [name.finishReasons]: [event.reason] });
    if (event.type === 'usage') tellUsage(event.usage, { metering, facts, span });
  };
};

const tellUsage = (
  { promptTokens, completionTokens, cachedTokens, reasoningTokens }: TextUsage,
  { metering, facts, span }: { metering: Metering; facts: Attributes; span: OpenSpan },
): void => {
  const counted = [
    ['input', name.inputTokens, promptTokens],
    ['output', name.outputTokens, completionTokens],
    ['cached', name.cachedTokens, cachedTokens],
    ['reasoning', name.reasoningTokens, reasoningTokens],
  ] as const;
  for (const [type, attribute, tokens] of counted) {
    if (tokens === null) continue;
    metering.record('tokens', tokens, { ...facts, 'gen_ai.token.type': type });
    span.set({ [attribute]: tokens });
  }
};
