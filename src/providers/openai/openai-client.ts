import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { OpenAI } from 'openai';
import type { AnswerHead, BodyLimits } from '../../http/send-request.ts';
import { ProviderError } from '../provider-error.ts';
import type { RemoteConfig } from '../remote-settings.ts';
import { toStatusFailure, toStreamFailure } from '../upstream-failure.ts';
import {
  createUpstream,
  isSuccess,
  toAnswer,
  type Upstream,
  type UpstreamConfig,
  type UpstreamRequest,
} from '../upstream.ts';

const megabyte = 1024 ** 2;
const eventLimits: BodyLimits = { totalBytes: 128 * megabyte, lineBytes: 8 * megabyte };
/** An image in base64 is a third longer than itself. */
const answerBytes = 48 * megabyte;
/** Parsing it holds up the event loop as long as one line of a stream may. */
const completionBytes = 8 * megabyte;
/** The time-out of the package, so that ours end a call. */
const longestTimerMs = 2 ** 31 - 1;

export type OpenAiClient = ReturnType<typeof createOpenAiClient>;

/** An OpenAI-compatible service. `baseUrl` has the version part. Throws ProviderError, or the signal's reason. */
export const createOpenAiClient = (
  config: Pick<RemoteConfig, 'baseUrl'> & UpstreamConfig,
  context: Parameters<typeof createUpstream>[1] = {},
) => {
  const { baseUrl, timeouts } = config;
  const upstream = createUpstream(config, context);
  return {
    baseUrl,
    /** Makes calls by the `openai` package, whose answers may be of any form. */
    call: async <Answer>(
      make: (openai: OpenAI) => PromiseLike<Answer>,
      signal: AbortSignal,
    ): Promise<Answer> => {
      // It takes 0.1 s and 6 MB to load, and chats do without it.
      const { OpenAI: Package } = await import('openai/client');
      const openai = new Package({
        baseURL: baseUrl,
        apiKey: 'added by the upstream',
        // Without `Response` the package calls the function, to see what it returns.
        fetch: Object.assign(createFetch(upstream, signal), { Response }),
        maxRetries: 0,
        timeout: longestTimerMs,
        logLevel: 'off',
      });
      try {
        return await make(openai);
      } catch (error) {
        // The package wraps what its `fetch` throws.
        const cause = error instanceof Error ? error.cause : undefined;
        throw cause ?? (error instanceof SyntaxError ? notJson('answer', error) : error);
      }
    },
    /** Posts JSON and hands over the JSON of the answer: of each event up to `[DONE]` as it comes, or of the whole. */
    complete: async (path: string, request: UpstreamRequest, reading: Reading): Promise<void> => {
      const kept: Buffer[] = [];
      const { isStreamed, silenceMs, longestMs, onWhole } = reading;
      const totalMs = Math.min(timeouts.totalMs, longestMs);
      const { read, end, isDone } = createValueReader(reading);
      // A few services stream although they were not asked to.
      const hasEvents = (head: AnswerHead): boolean =>
        isSuccess(head) && (isStreamed || /^text\/event-stream/i.test(String(head.headers['content-type'])));
      const head = await upstream.receive(`${baseUrl}${path}`, {
        ...toRequest(request),
        timeouts: {
          ...timeouts,
          firstByteMs: Math.min(timeouts.firstByteMs + silenceMs, totalMs),
          totalMs,
        },
        limits: (answer) => (hasEvents(answer) ? eventLimits : { totalBytes: completionBytes }),
        onData: (chunk, answer) => {
          if (hasEvents(answer)) read(chunk, answer);
          else kept.push(chunk);
          return isDone();
        },
      });
      if (hasEvents(head)) return end();
      const answer = toAnswer(head, kept);
      if (!isSuccess(answer)) throw toStatusFailure(answer);
      if (answer.value === undefined) throw notJson('answer');
      onWhole(withoutError(answer.value, head.headers));
    },
    close: () => upstream.close(),
  };
};

const toRequest = (request: UpstreamRequest): UpstreamRequest => ({
  ...request,
  headers: { accept: 'application/json', 'content-type': 'application/json', ...request.headers },
});

/** The `fetch` of the package, by our own client. Its headers are left out: they tell of this machine. */
const createFetch =
  (upstream: Upstream, signal: AbortSignal) =>
  async (url: string | URL | Request, { body }: RequestInit = {}): Promise<Response> => {
    const chunks = await upstream.collect(url instanceof Request ? url.url : url.toString(), {
      ...toRequest({ ...(await encode(body)), signal }),
      maxBytes: answerBytes,
    });
    // The package would return the text of an answer that names another type.
    return new Response(ReadableStream.from(chunks), { headers: { 'content-type': 'application/json' } });
  };

/** Encodes a form. A text is JSON, and goes as it is. */
const encode = async (body: RequestInit['body']): Promise<Pick<UpstreamRequest, 'body' | 'headers'>> => {
  if (!(body instanceof FormData)) return typeof body === 'string' ? { body } : {};
  const form = new Response(body);
  return { body: new Uint8Array(await form.arrayBuffer()), headers: Object.fromEntries(form.headers) };
};

/** Says how an answer is requested, and takes its JSON. */
interface Reading {
  isStreamed: boolean;
  /** How much longer than usual the first byte may take; Infinity if that is not known. */
  silenceMs: number;
  /** The most time of the whole answer, if the service allows more. */
  longestMs: number;
  onEvent: (value: unknown) => void;
  onWhole: (value: unknown) => void;
}

/** Reads the JSON of events up to `[DONE]`. Throws ProviderError. */
const createValueReader = ({ onEvent, onWhole }: Reading) => {
  let isDone = false;
  let headers: AnswerHead['headers'] = {};
  const reader = createEventReader(
    ({ event, data }) => {
      isDone ||= data === '[DONE]';
      if (isDone) return;
      onEvent(withoutError(parseEvent(data), headers, event));
    },
    // A few services answer in one piece although a stream was asked for, above all with an error.
    (line) => line.startsWith('{') && onWhole(withoutError(parseEvent(line), headers)),
  );
  return {
    isDone: () => isDone,
    end: reader.end,
    read: (chunk: Buffer, head: AnswerHead): void => {
      ({ headers } = head);
      reader.read(chunk);
    },
  };
};

/** Reads server-sent events, however their bytes are cut, and hands over each, and each other line, as soon as it is whole. */
export const createEventReader = (
  onEvent: (event: EventSourceMessage) => void,
  onOther?: (line: string) => void,
) => {
  const parser = createParser({ onEvent, onError: ({ line = '' }) => onOther?.(line) });
  const decoder = new TextDecoder();
  return {
    read: (chunk: Uint8Array): void => parser.feed(decoder.decode(chunk, { stream: true })),
    /** Some upstreams leave out the empty line after the last event. */
    end: (): void => parser.feed(`${decoder.decode()}\n\n`),
  };
};

const notJson = (what: string, cause?: unknown): ProviderError =>
  new ProviderError(`the upstream sent an ${what} that is not JSON`, { failure: 'ambiguous', cause });

const parseEvent = (data: string): unknown => {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw notJson('event', cause);
  }
};

/** Returns a value that is no error, nor has one. Throws ProviderError. */
const withoutError = (value: unknown, headers: AnswerHead['headers'], event?: string): unknown => {
  const error =
    value !== null && typeof value === 'object' && 'error' in value && Boolean(value.error)
      ? value.error
      : null;
  if (error !== null || event === 'error') throw toStreamFailure(error ?? value, headers);
  return value;
};
