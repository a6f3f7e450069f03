import { ConfigError } from '../../kit/errors.ts';
import { LeadIndexError } from '../lead-index.ts';
import { usernameKey } from '../query/fold-text.ts';
import { createAskUpstream, isGood, type UpstreamRequest } from './ask-upstream.ts';
import type { HttpLeadsConfig } from './http-source.ts';

/**
 * Deletes forgotten people in the service of `leads.http`. Resolves with false if it has no request for that. Rejects
 * with LeadIndexError; then the same call can be made again.
 */
export type ForgetUpstream = (usernames: readonly string[]) => Promise<boolean>;

/** A service may rewrite much for a deletion. */
const timeoutMs = 60_000;
const maxAnswerBytes = 1024 ** 2;
const maxPeople = 1_000;

/** `readSource` rejects with ConfigError. People must be forgotten in the gateway first, as the errors say so. */
export const createForgetUpstream =
  (readSource: () => Promise<Pick<HttpLeadsConfig, 'forget' | 'headers'> | undefined>): ForgetUpstream =>
  async (usernames) => {
    const source = await readSource().catch((error: unknown) => {
      throw stillThere(error instanceof ConfigError ? error.message : 'its settings cannot be read', error);
    });
    if (source === undefined || source.forget === null) return false;
    const upstream = createAskUpstream({ timeoutMs, maxBytes: maxAnswerBytes });
    const { signal } = new AbortController();
    try {
      for (const request of requestsOf(source.forget, usernames.map(usernameKey), source.headers)) {
        const { status } = await upstream.ask(request, signal).catch((error: unknown) => {
          throw stillThere('it does not answer', error);
        });
        const isGone = status === 404 && request.method === 'DELETE';
        if (!isGood(status) && !isGone) throw stillThere(`it answered with status ${status}`);
      }
      return true;
    } finally {
      await upstream.close();
    }
  };

const requestsOf = function* (
  { method, url, body }: NonNullable<HttpLeadsConfig['forget']>,
  keys: readonly string[],
  headers: Record<string, string>,
): Generator<UpstreamRequest> {
  if (url.includes('{username_key}')) {
    const text = body === null ? null : JSON.stringify(body);
    for (const key of keys)
      yield {
        method,
        url: url.replaceAll('{username_key}', () => encodeURIComponent(key)),
        headers,
        body: text,
      };
    return;
  }
  const text = JSON.stringify(body);
  for (let start = 0; start < keys.length; start += maxPeople) {
    const some = JSON.stringify(keys.slice(start, start + maxPeople));
    yield { method, url, headers, body: text.replaceAll('"{username_keys}"', () => some) };
  }
};

const stillThere = (problem: string, cause?: unknown): LeadIndexError =>
  new LeadIndexError(
    'failed',
    'These people are forgotten, and no search finds them. But the service of leads.http may still have their data: ' +
      `${problem}. Run the same again.`,
    { cause },
  );
