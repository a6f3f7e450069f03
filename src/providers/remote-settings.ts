import { z } from 'zod';
import { ConfigError } from '../kit/errors.ts';
import { paySettings, readPay, type PayConfig } from '../http/pay-settings.ts';
import { httpUrl, withoutTrailingSlash } from '../kit/settings.ts';
import type { ProviderConfig, SettingsOrigin } from './provider.ts';

export interface ProviderTimeouts {
  connectMs: number;
  firstByteMs: number;
  idleMs: number;
  totalMs: number;
}

/** The configuration of a provider that is an HTTP service. */
export interface RemoteConfig extends ProviderConfig {
  /** Without a trailing slash. */
  baseUrl: string;
  apiKey: string | null;
  timeouts: ProviderTimeouts;
  /** True: the service gets the ids of our traces. */
  sendsTraceparent?: boolean;
  /** Null or absent: its answers are not paid by x402. */
  pay?: PayConfig | null;
}

const connectMs = 5_000;
/** At most a day: beyond 24.8 days a timer would fire at once. */
const timeoutMs = z.int().min(1).max(86_400_000);

export const remoteSettings = z.strictObject({
  base_url: httpUrl.transform(withoutTrailingSlash).describe('address of the service'),
  api_key_env: z.string().min(1).optional().describe('variable with the key; without it no key is sent'),
  first_byte_ms: timeoutMs
    .default(120_000)
    .describe('how long the first byte may take; a chat in one piece has up to two minutes more'),
  idle_ms: timeoutMs.default(60_000).describe('how long an answer may pause'),
  total_ms: timeoutMs.default(600_000).describe('how long a whole answer may take'),
  send_traceparent: z
    .boolean()
    .default(false)
    .describe('sends [`traceparent`](operators-telemetry.md#traces)'),
  pay: paySettings.optional().describe('pays a service that sells its answers'),
});

/** Throws ConfigError when the variable of the key is not set. */
export const readRemote = (
  settings: z.output<typeof remoteSettings>,
  { setting, environment }: SettingsOrigin,
): Omit<RemoteConfig, 'type'> => {
  const { api_key_env: variable } = settings;
  const apiKey = variable === undefined ? null : environment[variable];
  if (apiKey === undefined || apiKey === '')
    throw new ConfigError(
      `causeway.yaml: ${setting}.api_key_env: the environment variable ${variable} is not set`,
    );
  return {
    baseUrl: settings.base_url,
    apiKey,
    sendsTraceparent: settings.send_traceparent,
    pay: readPay(settings.pay, { setting, environment }),
    timeouts: {
      connectMs,
      firstByteMs: settings.first_byte_ms,
      idleMs: settings.idle_ms,
      totalMs: settings.total_ms,
    },
  };
};
