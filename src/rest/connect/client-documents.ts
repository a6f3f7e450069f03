import { LRUCache } from 'lru-cache';
import { errors } from 'oidc-provider';
import { createFairShareLimiter } from '../../kit/fair-share-limiter.ts';
import { sha256 } from '../../kit/ids.ts';
import { isUnsent, OutboundError, type Outbound } from '../../http/outbound.ts';
import { isJsonObject, parseJson } from '../../kit/json.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Store } from '../../store/store.ts';
import { assertRedirects } from './redirect-target.ts';

const maxBytes = 5_000;
const totalMs = 5_000;
const atOnce = 8;
const waiting = 64;
/** An address that answered nothing usable is left alone for this time. */
const badForMs = 60_000;
const keptMs = 90 * 24 * 3_600_000;
const model = 'ClientDocument';
const maxDocuments = 10_000;
/** Counting them is dear, so it comes with one of so many writes. */
const writesForCount = 100;

/** Whether an address answered, but with no document of its own: the publisher may have taken it away. */
const isAnswer = (error: unknown): boolean =>
  error instanceof OutboundError
    ? !['timeout', 'broken_off'].includes(error.failure) &&
      error.status !== 429 &&
      (error.status ?? 0) < 500 &&
      !isUnsent(error)
    : error instanceof errors.InvalidClientMetadata;

/**
 * Gets the documents in which assistants describe themselves (CIMD), from addresses that strangers name. A document that
 * was read before serves as long as its address does not answer.
 */
export const createClientDocuments = ({
  outbound,
  store,
  clock,
}: {
  outbound: Pick<Outbound, 'download'>;
  store: Pick<Store, 'putOAuthRecord' | 'findOAuthRecord'>;
  clock: Clock;
}) => {
  const bad = new LRUCache<string, true>({ max: 1_000, ttl: badForMs });
  let writes = 0;
  const limiter = createFairShareLimiter({
    total: atOnce,
    perOwner: { owner: 2 },
    queue: { total: waiting },
  });

  const download = async (url: string): Promise<string> => {
    const signal = AbortSignal.timeout(totalMs);
    const { body } = await outbound.download(url, { maxBytes, totalMs, signal, redirects: 0 });
    const text = Buffer.concat(await body.toArray({ signal })).toString();
    const document = parseJson(text);
    if (!isJsonObject(document) || document['client_id'] !== url)
      throw new errors.InvalidClientMetadata('client_id: must be the address of the document');
    assertRedirects(document['redirect_uris']);
    return text;
  };

  const answer = (text: string): Response =>
    new Response(text, { headers: { 'content-type': 'application/json' } });

  return {
    isAllowed: (url: string): boolean => !bad.has(url) && URL.parse(url)?.port === '',
    /** Answers like `fetch`. */
    fetch: async (input: string | URL | Request): Promise<Response> => {
      const url = input instanceof Request ? input.url : String(input);
      const key = { model, id: sha256(url) };
      const now = clock.now();
      // An address is not to blame for the wait in the line here, nor for the store.
      let isBad = false;
      try {
        const owner = new URL(url).host;
        const text = await limiter.run({ owner }, { signal: AbortSignal.timeout(totalMs) }, () =>
          download(url).catch((error: unknown) => {
            isBad = true;
            throw error;
          }),
        );
        await store.putOAuthRecord({
          ...key,
          payload: text,
          grantId: null,
          uid: null,
          expiresAt: now + keptMs,
          now,
          maxRecords: writes % writesForCount === 0 ? maxDocuments : undefined,
        });
        writes += 1;
        return answer(text);
      } catch (error) {
        const kept = isAnswer(error) ? null : await store.findOAuthRecord({ ...key, now });
        if (kept !== null) return answer(kept.payload);
        if (isBad) bad.set(url, true);
        throw error;
      }
    },
  };
};
