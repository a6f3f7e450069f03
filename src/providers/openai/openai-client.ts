import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { BodyLimits } from '../../http/send-request.ts';
import { ProviderError } from '../provider-error.ts';
import type { RemoteConfig } from '../remote-settings.ts';
import { toStatusFailure, toStreamFailure } from '../upstream-failure.ts';
import {
  createUpstream,
  leaveBody,
  readAnswer,
  toTransportFailure,
  type UpstreamRequest,
} from '../upstream.ts';

const megabyte = 1024 ** 2;
const eventLimits: BodyLimits = { totalBytes: 128 * megabyte, lineBytes: 8 * megabyte };
/** An image in base64 is a third longer than itself. */
const answerBytes = 48 * megabyte;
const errorBytes = 4 * megabyte;

export type OpenAiClient = ReturnType<typeof createOpenAiClient>;

/**
 * An OpenAI-compatible service. `baseUrl` has the version part, as in `https://api.openai.com/v1`. Throws ProviderError, or
 * the signal's reason.
 */
export const createOpenAiClient = (config: Pick<RemoteConfig, 'baseUrl' | 'apiKey' | 'timeouts'>) => {
  const { baseUrl } = config;
  const upstream = createUpstream(config);
  const toRequest = (request: UpstreamRequest): UpstreamRequest => ({
    ...request,
    headers: { accept: 'application/json', 'content-type': 'application/json', ...request.headers },
  });
  return {
    baseUrl,
    /** Posts JSON, or a body with a content type of its own. Returns the JSON of the answer; undefined when it is none. */
    post: async (path: string, request: UpstreamRequest): Promise<unknown> => {
      const answer = await upstream.ask(`${baseUrl}${path}`, {
        ...toRequest(request),
        maxBytes: answerBytes,
      });
      if (!isSuccess(answer)) throw toStatusFailure(answer);
      return answer.value;
    },
    /** Posts JSON and yields the JSON of each event up to `[DONE]`, as it was sent. */
    stream: async function* (
      path: string,
      request: UpstreamRequest,
    ): AsyncGenerator<unknown, void, undefined> {
      const answer = await upstream.open(`${baseUrl}${path}`, {
        ...toRequest(request),
        limits: (head) => (isSuccess(head) ? eventLimits : { totalBytes: errorBytes }),
      });
      if (!isSuccess(answer)) throw toStatusFailure(await readAnswer(answer));
      const { body, headers } = answer;
      let isDone = false;
      try {
        const chunks: AsyncIterableIterator<Buffer> = body.iterator({ destroyOnReturn: false });
        for await (const { event, data } of readEvents(chunks)) {
          isDone = data === '[DONE]';
          if (isDone) return;
          const value = parseEvent(data);
          const error = errorIn(value);
          if (event === 'error' || error !== null) throw toStreamFailure(error ?? value, headers);
          yield value;
        }
      } catch (error) {
        throw toTransportFailure(error);
      } finally {
        if (isDone) leaveBody(body);
        else body.destroy();
      }
    },
    close: () => upstream.close(),
  };
};

const isSuccess = ({ status }: { status: number }): boolean => status >= 200 && status <= 299;

/** Reads server-sent events, however their bytes are cut. */
export const readEvents = async function* (
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<EventSourceMessage, void, undefined> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  const decoder = new TextDecoder();
  for await (const chunk of chunks) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* events.splice(0);
  }
  // Some upstreams leave out the empty line after the last event.
  parser.feed(`${decoder.decode()}\n\n`);
  yield* events.splice(0);
};

const parseEvent = (data: string): unknown => {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw new ProviderError('the upstream sent an event that is not JSON', { failure: 'ambiguous', cause });
  }
};

/** Returns the error that an event tells of; null when it has none. */
const errorIn = (value: unknown): unknown =>
  value !== null && typeof value === 'object' && 'error' in value && Boolean(value.error)
    ? value.error
    : null;
