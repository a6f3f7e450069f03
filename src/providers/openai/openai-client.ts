import type { OpenAI } from 'openai';
import type { ProviderTimeouts } from '../remote-settings.ts';
import { createUpstreamFetch, type Fetch } from './upstream-fetch.ts';

export interface OpenAiClientOptions {
  /** With the version part, as in `https://api.openai.com/v1`. */
  baseUrl: string;
  /** Null for upstreams without a key. */
  apiKey: string | null;
  timeouts: ProviderTimeouts;
  /** Replaces the default fetch, which applies the time-outs. */
  fetch?: Fetch;
}

/** One upstream with its connections, shared by its adapters. */
export interface OpenAiClient {
  baseUrl: string;
  /** Returns the client of the `openai` package, which is loaded by the first call. */
  open(): Promise<OpenAI>;
  close(): Promise<void>;
}

/** The package's time-out covers only the headers. Ours cover the whole answer, so its own is the longest possible. */
const neverMs = 2 ** 31 - 1;

export const createOpenAiClient = (options: OpenAiClientOptions): OpenAiClient => {
  let opening: ReturnType<typeof connect> | null = null;
  const open = () => (opening ??= connect(options));
  return {
    baseUrl: options.baseUrl,
    open: async () => (await open()).api,
    close: async () => {
      if (opening !== null) await (await opening).close();
    },
  };
};

const connect = async ({ baseUrl, apiKey, timeouts, fetch }: OpenAiClientOptions) => {
  const { OpenAI } = await import('openai');
  const upstream =
    fetch === undefined ? createUpstreamFetch(timeouts) : { fetch, close: () => Promise.resolve() };
  // All settings are set, because the package would read missing ones from the environment.
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
