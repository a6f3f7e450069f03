import { SpanKind, type Attributes } from '@opentelemetry/api';
import { AppError } from '../kit/errors.ts';
import type { Services } from '../operations/call.ts';
import { ProviderError } from '../providers/provider-error.ts';
import type { Provider } from '../providers/provider.ts';
import type { TextEvent } from '../providers/text/text-provider.ts';
import type { Metering, Watching } from './metering.ts';
import { spanAttributes as name } from './names.ts';
import type { OpenSpan } from './tracing.ts';

export const observeLeads = (
  leads: Services['leads'],
  { tracing, metering }: Watching,
): Services['leads'] => ({
  ...leads,
  search: async (query, options) => {
    const span = tracing.start('search leads', {});
    const end = metering.time('searches', { span });
    try {
      const found = await tracing.run(span.context, () => leads.search(query, options));
      end();
      return found;
    } catch (error) {
      end(error instanceof AppError ? error.code : options.signal.aborted ? 'canceled' : 'server_error');
      throw error;
    }
  },
});

/** Watches each call of a mounted tool, by the names that operators accepted. */
export const observeMounts = (
  mounts: Services['mounts'],
  { tracing, metering }: Watching,
): Services['mounts'] => ({
  ...mounts,
  call: async (called, input, context) => {
    const labels = { [name.mcpMethod]: 'tools/call', [name.server]: called.server, [name.tool]: called.tool };
    const attributes = { ...labels, [name.genAiOperation]: 'execute_tool' };
    const span = tracing.start(`tools/call ${called.tool}`, { kind: SpanKind.CLIENT, attributes });
    const end = metering.time('mountedCalls', { span, labels });
    const outcome = await tracing.run(span.context, () => mounts.call(called, input, context));
    end(errorOf(outcome));
    return outcome;
  },
});

const errorOf = (outcome: Awaited<ReturnType<Services['mounts']['call']>>): string | undefined => {
  switch (outcome.kind) {
    case 'answered':
      return outcome.result['isError'] === true ? 'tool_error' : undefined;
    case 'unsent':
      return 'upstream_unavailable';
    case 'unknown':
      return 'outcome_unknown';
  }
};

/** Watches each attempt at a provider: a span, its duration, its failure; for text its tokens and its first piece. */
export const observeProvider = (
  provider: string,
  { chat, image, video, ...rest }: Provider,
  parts: Watching,
): Provider => {
  const watch = createWatch(provider, parts);
  return {
    ...rest,
    ...(chat && {
      chat: {
        answer: (request, call) => {
          const { model, maxOutputTokens, isWhole } = request;
          const asked = { [name.maxTokens]: maxOutputTokens, [name.isStream]: !isWhole };
          return watch('chat', model, asked, async (span, labels) => {
            const text = createTextWatch(parts.metering, labels, { span, isStream: !isWhole });
            await chat.answer(request, { ...call, emit: (event) => (text(event), call.emit(event)) });
          });
        },
      },
    }),
    ...(image && {
      image: {
        generate: (request, options) =>
          watch('generate_content', request.model, {}, () => image.generate(request, options)),
      },
    }),
    ...(video && {
      video: {
        ...video,
        start: (request, options) =>
          watch('generate_content', request.model, {}, () => video.start(request, options)),
      },
    }),
  };
};

const createWatch =
  (provider: string, { tracing, metering }: Watching) =>
  async <T>(
    operation: 'chat' | 'generate_content',
    model: string,
    asked: Attributes,
    work: (span: OpenSpan, labels: Attributes) => Promise<T>,
  ): Promise<T> => {
    const labels = {
      [name.genAiOperation]: operation,
      [name.provider]: provider,
      [name.requestModel]: model,
    };
    const span = tracing.start(`${operation} ${model}`, {
      kind: SpanKind.CLIENT,
      attributes: { ...labels, ...asked },
    });
    const end = metering.time('providerCalls', { span, labels });
    try {
      const answer = await tracing.run(span.context, () => work(span, labels));
      end();
      return answer;
    } catch (error) {
      if (error instanceof ProviderError)
        metering.record('providerErrors', 1, {
          [name.provider]: provider,
          'causeway.failure': error.failure,
          [name.errorType]: error.code,
        });
      end(error instanceof ProviderError ? error.code : 'canceled');
      throw error;
    }
  };

/** Returns a function that takes each event of an answer. */
const createTextWatch = (
  metering: Metering,
  labels: Attributes,
  { span, isStream }: { span: OpenSpan; isStream: boolean },
): ((event: TextEvent) => void) => {
  const startedAt = performance.now();
  let isFirst = isStream;
  return (event) => {
    if (isFirst) {
      isFirst = false;
      const seconds = (performance.now() - startedAt) / 1_000;
      metering.record('firstChunks', seconds, labels);
      span.set({ [name.firstChunk]: seconds });
    }
    if (event.type === 'finish') span.set({ [name.finishReasons]: [event.reason] });
    if (event.type !== 'usage') return;
    const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = event.usage;
    const counted = [
      ['input', name.inputTokens, promptTokens],
      ['output', name.outputTokens, completionTokens],
      ['cached', name.cachedTokens, cachedTokens],
      ['reasoning', name.reasoningTokens, reasoningTokens],
    ] as const;
    for (const [type, attribute, tokens] of counted) {
      if (tokens === null) continue;
      metering.record('tokens', tokens, { ...labels, 'gen_ai.token.type': type });
      span.set({ [attribute]: tokens });
    }
  };
};
