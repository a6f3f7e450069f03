import { columns, orNull, text, time } from '../columns.ts';
import { read, run, sweepExpired, write, writeTransaction, type Steps } from '../command.ts';
import { firstOf, hasRows, statement, valuesOf } from '../statement.ts';

/** What the authorization server keeps under an id, as it names its models. */
export interface OAuthKey {
  model: string;
  /** SHA-256 of the id, which may be a code, a token or a cookie. */
  id: string;
}

export interface NewOAuthRecord extends OAuthKey {
  /** JSON text without any of those ids. */
  payload: string;
  /** SHA-256 of the grant's id; null: it belongs to no grant. */
  grantId: string | null;
  /** A second name: SHA-256 of another id, and that of its client for a grant. */
  uid: string | null;
  expiresAt: number;
  now: number;
  /**
   * The most records of this model. The ones that were used longest ago give way to a new one. The client of a grant that
   * lives neither counts nor gives way. Default: no limit.
   */
  maxRecords?: number;
  /** The most records of this model in its grant, likewise. */
  maxOfGrant?: number;
}

const evict = statement({
  text: `delete from oauth_records where model = $1 and id in (
      select id from oauth_records r where model = $1 and not exists (
        select 1 from oauth_records g where g.uid = r.id and g.model = 'Grant' and g.expires_at > $3
      )
      order by used_at desc, id limit 1000 offset $2
    )`,
  values: ({ model, maxRecords = 0, now }: NewOAuthRecord) => [model, maxRecords - 1, now],
});

/** A grant has few records. SQLite would look through all of the model, if its column stood alone. */
const evictOfGrant = statement({
  text: `delete from oauth_records where model = $1 and id in (
      select id from oauth_records where grant_id = $3 and model || '' = $1
      order by used_at desc, id limit 1000 offset $2
    )`,
  values: ({ model, maxOfGrant = 0, grantId }: NewOAuthRecord) => [model, maxOfGrant - 1, grantId],
});

const records = columns({
  model: text(),
  id: text(),
  payload: text(),
  grantId: orNull(text()),
  uid: orNull(text()),
  usedAt: time(),
  expiresAt: time(),
});

const upsert = statement({
  text: `insert into oauth_records (${records.list()}) values (${records.parameters()})
    on conflict (model, id) do update set payload = excluded.payload, grant_id = excluded.grant_id,
      uid = excluded.uid, used_at = excluded.used_at, expires_at = excluded.expires_at`,
  values: ({ now, ...record }: NewOAuthRecord) => records.values({ ...record, usedAt: now }),
});

const keepGrant = statement({
  text: `update oauth_records set expires_at = $2 where model = 'Grant' and id = $1 and expires_at < $2`,
  values: valuesOf<NewOAuthRecord>('grantId', 'expiresAt'),
});

const keepConnection = statement({
  text: `update api_keys set expires_at = null
    where id = (select id from connections where grant_id = $1) and expires_at is not null`,
  values: valuesOf<NewOAuthRecord>('grantId'),
});

/** Keeps a record. A token opens its connection, and its grant then lives as long as the token. */
export const putOAuthRecord = writeTransaction(function* (record: NewOAuthRecord): Steps<void> {
  if (record.maxRecords !== undefined) yield* run(evict, record);
  if (record.maxOfGrant !== undefined) yield* run(evictOfGrant, record);
  yield* run(upsert, record);
  if (record.model !== 'AccessToken' && record.model !== 'RefreshToken') return;
  yield* run(keepGrant, record);
  yield* run(keepConnection, record);
});

const kept = columns({ payload: text(), consumedAt: orNull(time()), usedAt: time() });
export type OAuthRecord = ReturnType<typeof kept.read>;

/** Null if there is none, or it has expired. */
export const findOAuthRecord = read({
  text: `select ${kept.list()} from oauth_records where model = $1 and id = $2 and expires_at > $3`,
  values: valuesOf<OAuthKey & { now: number }>('model', 'id', 'now'),
  read: firstOf(kept.read),
});

/** Returns the payload of the record with this second name. Null if there is none, or it has expired. */
export const findOAuthRecordByUid = read({
  text: `select payload from oauth_records where model = $1 and uid = $2 and expires_at > $3`,
  values: valuesOf<{ model: string; uid: string; now: number }>('model', 'uid', 'now'),
  read: firstOf(({ payload }: { payload: string }) => payload),
});

/** Notes that a record is used, and may stay until `expiresAt`. */
export const useOAuthRecord = write({
  text: `update oauth_records set used_at = $3, expires_at = $4 where model = $1 and id = $2`,
  values: valuesOf<OAuthKey & { now: number; expiresAt: number }>('model', 'id', 'now', 'expiresAt'),
});

/** Marks a record as used up. False if it was already, or is gone. */
export const consumeOAuthRecord = write({
  text: `update oauth_records set consumed_at = $3
    where model = $1 and id = $2 and consumed_at is null and expires_at > $3 returning 1 as consumed`,
  values: valuesOf<OAuthKey & { now: number }>('model', 'id', 'now'),
  read: hasRows,
});

export const deleteOAuthRecord = write({
  text: `delete from oauth_records where model = $1 and id = $2`,
  values: valuesOf<OAuthKey>('model', 'id'),
});

export const sweepOAuthRecords = sweepExpired('oauth_records', 'model, id');
