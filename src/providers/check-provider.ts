import type { ProviderConfig } from '../config/config.ts';
import { createHttpClient } from '../http/http-client.ts';
import type { Log } from '../kit/log.ts';

export type RemoteConfig = Exclude<ProviderConfig, { type: 'sandbox' }>;

const timeoutMs = 5_000;

/** An address of the provider that lists something and costs nothing. */
const listUrl = ({ type, baseUrl }: RemoteConfig): string => {
  switch (type) {
    case 'openai':
      return `${baseUrl}/models`;
    case 'videos':
      return `${baseUrl.replace(/\/v1$/, '')}/v1/models`;
    case 'modelark':
      return `${baseUrl.replace(/\/api\/v3$/, '')}/api/v3/contents/generations/tasks?page_size=1`;
  }
};

/** What is wrong and what to do; null: nothing that is known. */
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

/** Tells the log when a provider cannot be reached or answers as one with another address or key. Never rejects. */
export const checkProvider = async (
  name: string,
  provider: RemoteConfig,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<void> => {
  const url = listUrl(provider);
  const { origin, pathname } = new URL(url);
  const setting = `providers.${name}`;
  const tell = (trouble: string, facts: object): void =>
    log.warn(
      { provider: name, url: `${origin}${pathname}`, ...facts },
      `the provider ${name} ${trouble} (causeway.yaml)`,
    );
  const http = createHttpClient({ connectMs: timeoutMs });
  try {
    const { status } = await http.send(url, {
      headers: provider.apiKey === null ? {} : { authorization: `Bearer ${provider.apiKey}` },
      timeouts: { totalMs: timeoutMs },
      signal,
      limits: () => ({ totalBytes: Infinity }),
    });
    const trouble = troubleOf(status, setting);
    if (trouble !== null) tell(trouble, { status });
  } catch (error) {
    if (signal.aborted) return;
    tell(`cannot be reached: requests to it fail until it can. Start it, or correct ${setting}.base_url`, {
      err: error,
    });
  } finally {
    await http.close();
  }
};
