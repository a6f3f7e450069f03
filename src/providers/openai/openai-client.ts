import type { OpenAI } from 'openai';
import type { ProviderTimeouts } from '../remote-settings.ts';
import { createUpstreamFetch, type Fetch } from './upstream-fetch.ts';

export interface OpenAiClientOptions {
  /** With the version part, as in `https://api.openai.com/v1`. */
  baseUrl: string;
  /** Null for upstreams that want none. */
  apiKey: string | null;
  timeouts: ProviderTimeouts;
  /** By default one that keeps the time-outs. */
  fetch?: Fetch;
}

/** One upstream with its connections, shared by its text and image adapters. */
export interface OpenAiClient {
  baseUrl: string;
  /** The package's client, loaded when first needed. */
  open(): Promise<{ api: OpenAI }>;
  close(): Promise<void>;
}

/** Our time-outs cover the whole answer, the package's only the headers. So its timer waits as long as a timer can. */
const neverMs = 2 ** 31 - 1;

export const createOpenAiClient = (options: OpenAiClientOptions): OpenAiClient => {
  let opening: ReturnType<typeof connect> | null = null;
  return {
    baseUrl: options.baseUrl,
    open: () => (opening ??= connect(options)),
    close: async () => {
      if (opening !== null) await (await opening).close();
    },
  };
};

const connect = async ({ baseUrl, apiKey, timeouts, fetch }: OpenAiClientOptions) => {
  const { OpenAI } = await import('openai');
  const upstream =
    fetch === undefined ? createUpstreamFetch(timeouts) : { fetch, close: () => Promise.resolve() };
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
