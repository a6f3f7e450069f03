import { columns, orNull, text, time, type RowOf } from '../columns.ts';
import { read, run, sweepExpired, write, writeTransaction, type Steps } from '../command.ts';
import { firstOf, firstRow, hasRows, statement, valuesOf } from '../statement.ts';

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
});

const upsert = statement({
  text: `insert into oauth_records (model, id, payload, grant_id, uid, used_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7)
    on conflict (model, id) do update set payload = excluded.payload, grant_id = excluded.grant_id,
      uid = excluded.uid, used_at = excluded.used_at, expires_at = excluded.expires_at`,
  values: valuesOf<NewOAuthRecord>('model', 'id', 'payload', 'grantId', 'uid', 'now', 'expiresAt'),
});

export const putOAuthRecord = writeTransaction(function* (record: NewOAuthRecord): Steps<void> {
  if (record.maxRecords !== undefined) yield* run(evict, record);
  yield* run(upsert, record);
});

const recordFields = { payload: text(), consumedAt: orNull(time()), usedAt: time() };
export type OAuthRecord = RowOf<typeof recordFields>;
const records = columns(recordFields);

/** Null if there is none, or it has expired. */
export const findOAuthRecord = read({
  text: `select ${records.list()} from oauth_records
    where model = $1 and id = $2 and expires_at > $3`,
  values: valuesOf<OAuthKey & { now: number }>('model', 'id', 'now'),
  read: firstOf(records.read),
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
  values: valuesOf<OAuthKey & { now: number; expiresAt: number }>('model', 'id', 'now', 'expiresAt'),
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
});

export const sweepOAuthRecords = sweepExpired('oauth_records', 'model, id');
