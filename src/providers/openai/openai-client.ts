import type { OpenAI } from 'openai';
import type { ProviderTimeouts } from '../remote-settings.ts';
import type { Fetch, UpstreamFetch } from './upstream-fetch.ts';

export interface OpenAiClientOptions {
  /** With the version part, as in `https://api.openai.com/v1`. */
  baseUrl: string;
  /** Null for upstreams that want none. */
  apiKey: string | null;
  timeouts: ProviderTimeouts;
  /** In place of the fetch over undici, which keeps the time-outs. */
  fetch?: Fetch;
}

/** One upstream with its connections, shared by its text and image adapters. */
export interface OpenAiClient {
  baseUrl: string;
  /** The package's client, loaded when first needed. */
  open(): Promise<OpenAiConnection>;
  close(): Promise<void>;
}

interface OpenAiConnection {
  api: OpenAI;
}

/** The package's timers measure the headers only; ours measure all, so its own wait as long as a timer can. */
const neverMs = 2 ** 31 - 1;

export const createOpenAiClient = (options: OpenAiClientOptions): OpenAiClient => {
  let opening: Promise<OpenAiConnection & Pick<UpstreamFetch, 'close'>> | null = null;
  return {
    baseUrl: options.baseUrl,
    open: () => (opening ??= connect(options)),
    close: async () => {
      if (opening !== null) await (await opening).close();
    },
  };
};

const connect = async (
  options: OpenAiClientOptions,
): Promise<OpenAiConnection & Pick<UpstreamFetch, 'close'>> => {
  const [{ OpenAI }, upstream] = await Promise.all([import('openai'), openFetch(options)]);
  const { baseUrl, apiKey } = options;
  // Every setting that the package would otherwise take from the environment is given.
  const api = new OpenAI({
    baseURL: baseUrl,
    apiKey: apiKey ?? 'none',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    logLevel: 'off',
    maxRetries: 0,
    timeout: neverMs,
    fetch: upstream.fetch,
    ...(apiKey === null ? { defaultHeaders: { authorization: null } } : {}),
  });
  return { api, close: upstream.close };
};

const openFetch = async ({ fetch, timeouts }: OpenAiClientOptions): Promise<UpstreamFetch> => {
  if (fetch !== undefined) return { fetch, close: () => Promise.resolve() };
  const { createUpstreamFetch } = await import('./upstream-fetch.ts');
  return createUpstreamFetch(timeouts);
};
