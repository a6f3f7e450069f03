import { errors, type Adapter, type AdapterPayload } from 'oidc-provider';
import type { Clock } from '../../kit/clock.ts';
import { sha256 } from '../../kit/ids.ts';
import type { Store } from '../../store/store.ts';
import { assertRedirects } from './redirect-target.ts';

/** Stands for the id in a stored payload. JSON text never has this character. */
const idMark = '\u0001';

/** Assistants refresh twice at once with one token. The second is answered, too, when it comes so soon. */
const refreshGraceMs = 60_000;

const dayMs = 24 * 3_600_000;
/** A registered client that nobody uses is forgotten after this time. */
const clientLifeMs = 90 * dayMs;

/** A grant whose code is not exchanged for a token ends after this time. A token keeps it for longer. */
export const unusedGrantMs = 10 * 60_000;

/** Strangers make records of these models. So each is bounded in bytes, and all of a model in number. */
const maxBytes: Readonly<Record<string, number>> = { Client: 5_000, Interaction: 10_000, Session: 10_000 };
const maxRecords = 10_000;
/** Counting them is dear, so it comes with one of so many writes. */
const writesForCount = 100;
/** A connection that refreshes without end keeps so many of its tokens of a kind. */
const maxTokens = 50;

const toPayload = (stored: string, id: string): AdapterPayload =>
  JSON.parse(stored.replaceAll(idMark, id)) as AdapterPayload;

const assertLength = (model: string, text: string): void => {
  const most = maxBytes[model] ?? Infinity;
  if (Buffer.byteLength(text) <= most) return;
  const message = `The request is too long: it may have ${most} bytes.`;
  throw model === 'Client' ? new errors.InvalidClientMetadata(message) : new errors.InvalidRequest(message);
};

/**
 * Keeps what the authorization server asks to keep of one model. Ids are codes, tokens and cookies, so only their hashes
 * are stored. A code is used once, also by two processes at the same moment.
 */
export const createOAuthAdapter = (
  model: string,
  { store, clock }: { store: Store; clock: Clock },
): Adapter => {
  const keyOf = (id: string) => ({ model, id: sha256(id) });

  let writes = 0;
  const lifeOf = (expiresIn = 0): number =>
    model === 'Client' ? clientLifeMs : model === 'Grant' ? unusedGrantMs : expiresIn * 1_000;

  const isOver = (consumedAt: number | null): boolean =>
    consumedAt !== null && (model !== 'RefreshToken' || clock.now() - consumedAt > refreshGraceMs);

  return {
    upsert: async (id, { ...payload }, expiresIn) => {
      if (model === 'Client') assertRedirects(payload.redirect_uris);
      const now = clock.now();
      // It is a cookie, and nothing reads it.
      if (payload.session !== undefined) payload.session = { ...payload.session, cookie: '' };
      const text = JSON.stringify(payload).replaceAll(id, idMark);
      assertLength(model, text);
      // The client of a grant is found by it, and stays.
      const uid = model === 'Grant' ? payload.clientId : payload.uid;
      await store.putOAuthRecord({
        ...keyOf(id),
        payload: text,
        grantId: payload.grantId === undefined ? null : sha256(payload.grantId),
        uid: uid === undefined || uid === id ? null : sha256(uid),
        expiresAt: now + lifeOf(expiresIn),
        now,
        maxRecords: model in maxBytes && writes % writesForCount === 0 ? maxRecords : undefined,
        maxOfGrant: model === 'AccessToken' || model === 'RefreshToken' ? maxTokens : undefined,
      });
      writes += 1;
    },
    find: async (id) => {
      const now = clock.now();
      const found = await store.findOAuthRecord({ ...keyOf(id), now });
      if (found === null) return undefined;
      if (model === 'Client' && now - found.usedAt > dayMs)
        await store.useOAuthRecord({ ...keyOf(id), now, expiresAt: now + clientLifeMs });
      const payload = toPayload(found.payload, id);
      // A client registers the scopes that there were then. What it may do, its person says.
      if (model === 'Client') delete payload.scope;
      return isOver(found.consumedAt)
        ? { ...payload, consumed: Math.floor((found.consumedAt ?? 0) / 1_000) }
        : payload;
    },
    findByUid: async (uid) => {
      const found = await store.findOAuthRecordByUid({ model, uid: sha256(uid), now: clock.now() });
      return found === null ? undefined : toPayload(found, '');
    },
    // A grant for devices, which is switched off.
    findByUserCode: async () => undefined,
    consume: async (id) => {
      const isFirst = await store.consumeOAuthRecord({ ...keyOf(id), now: clock.now() });
      if (!isFirst && model !== 'RefreshToken') throw new errors.InvalidGrant('it was used already');
    },
    destroy: (id) => store.deleteOAuthRecord(keyOf(id)),
    revokeByGrantId: async (grantId) => {
      await store.endConnection({ grantId: sha256(grantId), now: clock.now() });
    },
  };
};
