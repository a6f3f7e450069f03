import { read, run, write, writeTransaction, type Steps } from '../command.ts';
import { countRows, firstOf, firstRow, hasRows, nothing, statement } from '../statement.ts';

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
  uid: string | null;
  expiresAt: number;
  now: number;
  /** The most records of this model. The ones that were used longest ago give way to a new one. Default: no limit. */
  maxRecords?: number;
}

const evict = statement({
  text: `delete from oauth_records where model = $1 and id in (
      select id from oauth_records where model = $1 order by used_at desc, id limit 1000 offset $2
    )`,
  values: ({ model, maxRecords = 0 }: NewOAuthRecord) => [model, maxRecords - 1],
  read: nothing,
});

const upsert = statement({
  text: `insert into oauth_records (model, id, payload, grant_id, uid, used_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7)
    on conflict (model, id) do update set payload = excluded.payload, grant_id = excluded.grant_id,
      uid = excluded.uid, used_at = excluded.used_at, expires_at = excluded.expires_at`,
  values: ({ model, id, payload, grantId, uid, now, expiresAt }: NewOAuthRecord) => [
    model,
    id,
    payload,
    grantId,
    uid,
    now,
    expiresAt,
  ],
  read: nothing,
});

export const putOAuthRecord = writeTransaction(function* (record: NewOAuthRecord): Steps<void> {
  if (record.maxRecords !== undefined) yield* run(evict, record);
  yield* run(upsert, record);
});

export interface OAuthRecord {
  payload: string;
  consumedAt: number | null;
  usedAt: number;
}

const toRecord = firstOf(
  (row: { payload: string; consumed_at: bigint | null; used_at: bigint }): OAuthRecord => ({
    payload: row.payload,
    consumedAt: row.consumed_at === null ? null : Number(row.consumed_at),
    usedAt: Number(row.used_at),
  }),
);

/** Null if there is none, or it has expired. */
export const findOAuthRecord = read({
  text: `select payload, consumed_at, used_at from oauth_records
    where model = $1 and id = $2 and expires_at > $3`,
  values: ({ model, id, now }: OAuthKey & { now: number }) => [model, id, now],
  read: toRecord,
});

/** As `findOAuthRecord`, by the second name that the server gave it. */
export const findOAuthRecordByUid = read({
  text: `select id, payload from oauth_records where model = $1 and uid = $2 and expires_at > $3`,
  values: ({ model, uid, now }: { model: string; uid: string; now: number }) => [model, uid, now],
  read: firstRow<{ id: string; payload: string }>(),
});

/** Notes that a record is used, and may stay until `expiresAt`. */
export const useOAuthRecord = write({
  text: `update oauth_records set used_at = $3, expires_at = $4 where model = $1 and id = $2`,
  values: ({ model, id, now, expiresAt }: OAuthKey & { now: number; expiresAt: number }) => [
    model,
    id,
    now,
    expiresAt,
  ],
  read: nothing,
});

/** Marks a record as used up. False if it was already, or is gone. */
export const consumeOAuthRecord = write({
  text: `update oauth_records set consumed_at = $3
    where model = $1 and id = $2 and consumed_at is null and expires_at > $3 returning 1 as consumed`,
  values: ({ model, id, now }: OAuthKey & { now: number }) => [model, id, now],
  read: hasRows,
});

export const deleteOAuthRecord = write({
  text: `delete from oauth_records where model = $1 and id = $2`,
  values: ({ model, id }: OAuthKey) => [model, id],
  read: nothing,
});

/** Deletes up to `limit` records that have expired. Returns how many. */
export const sweepOAuthRecords = write({
  text: ({ lockFreeRows }) => `with over as (
      select model, id from oauth_records where expires_at <= $1 order by expires_at limit $2 ${lockFreeRows}
    )
    delete from oauth_records where (model, id) in (select model, id from over) returning 1 as removed`,
  values: ({ now, limit }: { now: number; limit: number }) => [now, limit],
  read: countRows,
});
