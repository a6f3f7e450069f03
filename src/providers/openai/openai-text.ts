import { OutboundError } from '../../http/outbound.ts';
import { ProviderError } from '../provider-error.ts';
import type { TextCall, TextEvent, TextProvider, TextRequest, TextUsage } from '../text/text-provider.ts';
import { promptText, type TokenCounter } from '../tokens/token-counter.ts';
import { createChunkReader } from './chunk-reader.ts';
import type { OpenAiClient } from './openai-client.ts';
import { isJsonObject } from '../../kit/json.ts';

export interface OpenAiTextOptions {
  client: OpenAiClient;
  /** Counts the tokens of the prompt and the answer when the upstream reports no usage, or none of an answer with words. */
  counter: TokenCounter;
}

/** Answers that may be bulky are streamed, so that the part beyond their limits is never kept. */
const bulkyOptions = ['logprobs', 'audio'];
/** OpenAI streams speech as PCM alone. */
const isSpokenFile = ({ options: { audio, modalities } }: TextRequest): boolean =>
  isJsonObject(audio) &&
  (audio['format'] ?? 'pcm16') !== 'pcm16' &&
  Array.isArray(modalities) &&
  modalities.includes('audio');
/** An answer in one piece is late after this many times the known time of its model, and the usual time. */
const slowerThanKnown = 4;

const isRefusal = (error: unknown): error is ProviderError =>
  error instanceof ProviderError && error.failure === 'fatal' && error.code === 'invalid_parameter';

/** A model that does not take one of these is asked without it. Without any other member an answer would mean another thing. */
const bestEffort = new Set([
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'seed',
  'logprobs',
  'top_logprobs',
  'parallel_tool_calls',
  'reasoning_effort',
  'verbosity',
]);

/** Text by chat completions of an OpenAI-compatible upstream: as a stream, or in one piece where that is safe. */
export const createOpenAiText = ({ client, counter }: OpenAiTextOptions): TextProvider => {
  const pace = createAnswerPace();
  const ask = createAsk({ client, counter }, pace);
  const usualLimit = limitField(client.baseUrl);
  const forms = new Map<string, KnownForm>();

  const mayBeWhole = (request: TextRequest): boolean =>
    request.isWhole &&
    (isSpokenFile(request) ||
      (pace.longestMs(request) <= longestSilenceMs &&
        !bulkyOptions.some((name) => Boolean(request.options[name]))));

  return {
    answer: async (request, call) => {
      const { model } = request;
      const usual = { limitField: usualLimit, isStreamed: !mayBeWhole(request) };
      let { options } = request;
      let learned: KnownForm = {};
      const sent: string[] = [];
      for (;;) {
        const known = { ...forms.get(model), ...learned };
        try {
          await ask({ ...request, options }, { ...call, sent }, { ...usual, ...known });
          forms.set(model, { ...forms.get(model), ...learned });
          return;
        } catch (error) {
          pace.forget(model);
          // A refused request did nothing, so it may be sent again.
          if (!isRefusal(error) || sent.length > 0) throw error;
          const { parameter = '' } = error;
          const other = otherForm(parameter, usual, known);
          if (other !== null) learned = { ...learned, ...other };
          else if (parameter in options && bestEffort.has(parameter)) options = without(parameter, options);
          else throw error;
        }
      }
    },
  };
};

/** The form that a model takes, as far as it has refused another one. */
type KnownForm = Partial<RequestForm>;

/** Returns what is asked in place of a refused form; null: the form is not at fault. */
const otherForm = (parameter: string, usual: RequestForm, known: KnownForm): KnownForm | null => {
  // Newer models of OpenAI, behind a proxy.
  if (parameter === 'max_tokens' && (known.limitField ?? usual.limitField) === parameter)
    return { limitField: 'max_completion_tokens' };
  const { isStreamed } = usual;
  // OpenAI names the member. A model that gives nothing but streams may say so in any words.
  const isOfStream = parameter === 'stream' || (parameter === '' && !isStreamed);
  return isOfStream && known.isStreamed === undefined ? { isStreamed: !isStreamed } : null;
};

/** Without `logprobs`, `top_logprobs` is of no use. */
const without = (parameter: string, options: TextRequest['options']): TextRequest['options'] =>
  Object.fromEntries(Object.entries(options).filter(([name]) => !name.endsWith(parameter)));

interface BegunCall extends TextCall {
  /** The words of the answer, which are added here. */
  sent: string[];
}

/** Asks once, in one form. */
const createAsk =
  ({ client, counter }: OpenAiTextOptions, pace: AnswerPace) =>
  async (request: TextRequest, { signal, emit, sent }: BegunCall, form: RequestForm): Promise<void> => {
    const reader = createChunkReader();
    let isFinished = false;
    /** Some upstreams give each chunk a finish reason, which then does not tell that the answer is whole. */
    let goesOn = false;
    const tell = (events: readonly TextEvent[]): void => {
      goesOn ||= isFinished && events.length > 0;
      isFinished = reader.finishReason() !== null;
      for (const event of events) {
        sent.push(textOf(event));
        emit(event);
      }
    };
    const begunAt = performance.now();
    const { isStreamed } = form;
    const body = JSON.stringify(toRequestBody(request, form));
    const reading = {
      isStreamed,
      silenceMs: isStreamed ? 0 : slowerThanKnown * pace.longestMs(request),
      longestMs: (request.endsAt ?? Infinity) - begunAt,
      onEvent: (value: unknown) => tell(reader.read(value)),
      onWhole: (value: unknown) => tell(reader.readWhole(value)),
    };
    const cutReason = await client.complete('/chat/completions', { body, signal }, reading).then(
      () => null,
      (error: unknown) => {
        if (!(error instanceof ProviderError)) throw error;
        // A whole answer was made, and is paid for, whatever comes after it.
        if (isFinished && !goesOn) return null;
        // The caller has what came until then, which would be free if long answers failed.
        if (sent.length > 0 && error.cause instanceof OutboundError && error.cause.isCut)
          return 'length' as const;
        throw error;
      },
    );
    const ms = performance.now() - begunAt;
    signal.throwIfAborted();
    const reason = cutReason ?? reader.finishReason();
    if (reason === null)
      throw new ProviderError('the upstream ended its answer without a finish reason', {
        failure: 'ambiguous',
      });
    emit({ type: 'finish', reason });
    const reported = reader.usage();
    // The usage of a whole answer comes last.
    const isCounted =
      cutReason === null && reported !== null && (reported.completionTokens > 0 || sent.join('') === '');
    const usage = isCounted ? reported : await countUsage(request, sent, { counter, signal });
    pace.learn(request.model, { ms, tokens: usage.completionTokens });
    emit({ type: 'usage', usage });
  };

const textOf = (event: TextEvent): string => {
  if (event.type === 'tool_call') return `${event.name ?? ''}${event.arguments}`;
  const spoken = event.type === 'content' ? (event.extras?.audio?.transcript ?? '') : '';
  return 'text' in event ? event.text + spoken : '';
};

const countUsage = async (
  request: TextRequest,
  sent: readonly string[],
  { counter, signal }: { counter: TokenCounter; signal: AbortSignal },
): Promise<TextUsage> => {
  const prompt = promptText(request);
  const [promptTokens = 0, completionTokens = 0] = await counter.count([prompt.text, sent.join('')], signal);
  return {
    promptTokens: promptTokens + prompt.extraTokens,
    completionTokens: Math.min(completionTokens, request.maxOutputTokens),
    cachedTokens: null,
    reasoningTokens: null,
  };
};

/** Half of the shortest time after which proxies commonly cut a silent connection. */
const longestSilenceMs = 30_000;
/** An answer with fewer tokens counts as one with these, because it also waits for its first one. */
const leastTokens = 50;
/** The part of a faster answer in the known pace. */
const fasterShare = 0.1;

type AnswerPace = ReturnType<typeof createAnswerPace>;

/**
 * Knows how fast each model of an upstream has answered, to decide which answers may come in one piece. Until its last byte
 * such an answer is silent, and proxies before an upstream cut a silent connection, many after a minute.
 */
const createAnswerPace = () => {
  const msPerToken = new Map<string, number>();
  return {
    /** How long the longest answer to a request may take. It is not known before the model's first answer. */
    longestMs: ({ model, maxOutputTokens }: { model: string; maxOutputTokens: number }): number =>
      maxOutputTokens * (msPerToken.get(model) ?? Infinity),
    /** Tells of an answer. A slower one counts at once, a faster one little by little. */
    learn: (model: string, { ms, tokens }: { ms: number; tokens: number }): void => {
      const pace = ms / Math.max(tokens, leastTokens);
      const known = msPerToken.get(model) ?? pace;
      msPerToken.set(model, Math.max(pace, known + (pace - known) * fasterShare));
    },
    /** An answer failed, perhaps because it was silent too long: the next one is a stream. */
    forget: (model: string): void => void msPerToken.delete(model),
  };
};

/** Newer models of OpenAI refuse `max_tokens`. Most compatible servers know no other name of the output limit. */
const limitField = (baseUrl: string): string =>
  /(^|\.)(openai\.com|azure\.com)$/.test(new URL(baseUrl).hostname) ? 'max_completion_tokens' : 'max_tokens';

export interface RequestForm {
  limitField: string;
  isStreamed: boolean;
}

/** Makes the body of a chat completion. A stream always asks for usage, which a whole answer has anyway. */
const toRequestBody = (
  { model, messages, maxOutputTokens, options: { stream_options: streamOptions, ...options } }: TextRequest,
  form: RequestForm,
): object => ({
  ...options,
  model,
  messages,
  [form.limitField]: maxOutputTokens,
  stream: form.isStreamed,
  ...(form.isStreamed
    ? { stream_options: { ...(isJsonObject(streamOptions) ? streamOptions : {}), include_usage: true } }
    : {}),
});
