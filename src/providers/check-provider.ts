import { createHttpClient } from '../http/http-client.ts';
import type { Log } from '../kit/log.ts';
import { definitionOf } from './index.ts';
import type { ProviderConfig } from './provider.ts';

const timeoutMs = 5_000;

/** Says what is wrong and what to do; null when nothing is known to be wrong. */
const troubleOf = (status: number, setting: string): Trouble | null => {
  if (status === 404)
    return {
      what: `answers 404: ${setting}.base_url is probably wrong (is its version part missing, as in /v1?), and then all requests to it fail`,
      remedy: 'Correct it, or leave it where the provider has no such list',
    };
  if (status >= 300 && status <= 399)
    return {
      what: `answers with a redirect (${status}), which is not followed, so all requests to it fail`,
      remedy: `Correct ${setting}.base_url; does it begin with https?`,
    };
  const remedy = `Correct the variable that ${setting}.api_key_env names`;
  // As Gemini and xAI do. Gemini also refuses some countries so.
  if (status === 400)
    return { what: 'answers 400, mostly to a wrong key, and then all requests to it fail', remedy };
  if (status === 401 || status === 403)
    return { what: `refuses the key (${status}): all requests to it fail`, remedy };
  return status >= 500
    ? { what: `is out of order (${status}): requests to it fail until it recovers`, remedy: null }
    : null;
};

interface Trouble {
  /** Follows the name of the provider. */
  what: string;
  /** Null: there is nothing to do but to wait. */
  remedy: string | null;
}

export interface ProviderFinding {
  trouble: Trouble | null;
  /** Without the parameters. */
  url: string;
  facts: { status?: number; err?: unknown };
  date?: unknown;
}

/** Asks a provider for something that costs nothing. Null: there is nothing to ask. Rejects with the signal's reason. */
export const askProvider = async (
  name: string,
  provider: ProviderConfig,
  signal: AbortSignal,
): Promise<ProviderFinding | null> => {
  const check = definitionOf(provider).check?.(provider);
  if (check === undefined) return null;
  const { origin, pathname } = new URL(check.url);
  const url = `${origin}${pathname}`;
  const setting = `providers.${name}`;
  const http = createHttpClient({ connectMs: timeoutMs });
  try {
    const { status, headers } = await http.send(check.url, {
      headers: check.apiKey === null ? {} : { authorization: `Bearer ${check.apiKey}` },
      timeouts: { totalMs: timeoutMs },
      signal,
      limits: { totalBytes: Infinity },
    });
    return { trouble: troubleOf(status, setting), url, facts: { status }, date: headers['date'] };
  } catch (error) {
    signal.throwIfAborted();
    const what = 'cannot be reached: requests to it fail until it can';
    return {
      trouble: { what, remedy: `Start it, or correct ${setting}.base_url` },
      url,
      facts: { err: error },
    };
  } finally {
    await http.close();
  }
};

/** Warns in the log when a provider cannot be reached, or its answer shows a wrong address or key. Never rejects. */
export const checkProvider = async (
  name: string,
  provider: ProviderConfig,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<void> => {
  const found = await askProvider(name, provider, signal).catch(() => null);
  if (found === null || found.trouble === null) return;
  const { what, remedy } = found.trouble;
  log.warn(
    { provider: name, url: found.url, ...found.facts },
    `the provider ${name} ${what}${remedy === null ? '' : `. ${remedy}`} (causeway.yaml)`,
  );
};
