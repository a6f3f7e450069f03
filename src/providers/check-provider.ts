import { createHttpClient } from '../http/http-client.ts';
import type { Log } from '../kit/log.ts';
import { definitionOf } from './index.ts';
import type { ProviderConfig } from './provider.ts';

const timeoutMs = 5_000;

/** Says what is wrong and what to do; null when nothing is known to be wrong. */
const troubleOf = (status: number, setting: string): string | null => {
  if (status === 404)
    return (
      `answers 404: ${setting}.base_url is probably wrong (is its version part missing, as in /v1?), and then all ` +
      'requests to it fail. Correct it, or leave it where the provider has no such list'
    );
  if (status === 401 || status === 403)
    return `refuses the key (${status}): all requests to it fail. Correct the variable that ${setting}.api_key_env names`;
  return status >= 500 ? `is out of order (${status}): requests to it fail until it recovers` : null;
};

/** Warns in the log when a provider cannot be reached, or its answer shows a wrong address or key. Never rejects. */
export const checkProvider = async (
  name: string,
  provider: ProviderConfig,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<void> => {
  const check = definitionOf(provider).check?.(provider);
  if (check === undefined) return;
  const { url, apiKey } = check;
  const { origin, pathname } = new URL(url);
  const setting = `providers.${name}`;
  const warn = (trouble: string, facts: object): void =>
    log.warn(
      { provider: name, url: `${origin}${pathname}`, ...facts },
      `the provider ${name} ${trouble} (causeway.yaml)`,
    );
  const http = createHttpClient({ connectMs: timeoutMs });
  try {
    const { status } = await http.send(url, {
      headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` },
      timeouts: { totalMs: timeoutMs },
      signal,
      limits: () => ({ totalBytes: Infinity }),
    });
    const trouble = troubleOf(status, setting);
    if (trouble !== null) warn(trouble, { status });
  } catch (error) {
    if (signal.aborted) return;
    warn(`cannot be reached: requests to it fail until it can. Start it, or correct ${setting}.base_url`, {
      err: error,
    });
  } finally {
    await http.close();
  }
};
