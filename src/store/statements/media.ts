import type { CommandInput } from '../commands.ts';
import { mediaColumns, toMedia, type MediaRow } from '../rows.ts';
import type { Media, ReservedMedia } from '../store.ts';
import { eachOf, firstOf, type Statement } from './statement.ts';

const noAnswer = (): void => {};

export const reserveMedia: Statement<ReservedMedia, never, void> = {
  name: 'reserve_media',
  text: () => `insert into media (id, account_id, role, content_type, size_bytes, created_at, expires_at)
    values ($1, $2, $3, $4, 0, $5, $6)`,
  values: ({ id, accountId, role, contentType, now, expiresAt }) => [
    id,
    accountId,
    role,
    contentType,
    now,
    expiresAt,
  ],
  read: noAnswer,
};

/**
 * Makes reserved media the inputs of a job. Returns how many it found. An expired one is not found, because its bytes
 * may be gone. The sum stops the planner from using the index on the expiry: the ids find the rows.
 */
export const attachInputs: Statement<
  { jobId: string; accountId: string; inputs: readonly string[]; expiresAt: number; now: number },
  unknown,
  number
> = {
  name: 'attach_inputs',
  text: ({ givenStrings }) => `update media
    set job_id = $1, role = 'input', position = given.position, expires_at = $4
    from ${givenStrings('$3')}
    where media.id = given.value and media.account_id = $2 and media.job_id is null
      and media.expires_at + 0 > $5
    returning 1 as attached`,
  values: ({ jobId, accountId, inputs, expiresAt, now }) => [
    jobId,
    accountId,
    JSON.stringify(inputs),
    expiresAt,
    now,
  ],
  read: (rows) => rows.length,
};

/** Columns of a job's result, in the order in which both engines insert them. */
export const resultMediaColumns =
  'id, account_id, job_id, role, position, content_type, size_bytes, created_at, expires_at';

/**
 * Completes a reserved row. A row that already has a job, or belongs to another account, would lose its account here.
 * The table refuses that, so the whole command fails.
 */
export const takeReserved = `on conflict (id) do update set
    account_id = case when media.job_id is null and media.account_id = excluded.account_id
      then media.account_id end,
    job_id = excluded.job_id, role = excluded.role, position = excluded.position,
    content_type = excluded.content_type, size_bytes = excluded.size_bytes, expires_at = excluded.expires_at`;

export const getMedia: Statement<string, MediaRow, Media | null> = {
  name: 'get_media',
  text: () => `select ${mediaColumns} from media where id = $1`,
  values: (id) => [id],
  read: firstOf(toMedia),
};

/** A job's inputs are attached when it is opened, its results when it ends. */
export const listMedia: Statement<string, MediaRow, Media[]> = {
  name: 'list_media',
  text: () => `select ${mediaColumns} from media where job_id = $1
    order by case role when 'input' then 0 else 1 end, position, id`,
  values: (jobId) => [jobId],
  read: eachOf(toMedia),
};

export const listExpiredMedia: Statement<CommandInput<'listExpiredMedia'>, MediaRow, Media[]> = {
  name: 'list_expired_media',
  text: () => `select ${mediaColumns} from media where removed_at is null and expires_at <= $1
    order by expires_at, id limit $2`,
  values: ({ now, limit }) => [now, limit],
  read: eachOf(toMedia),
};

/** Locks rows in the order of their ids, so that two commands on the same media cannot deadlock. */
export const discardMedia: Statement<CommandInput<'discardMedia'>, never, void> = {
  name: 'discard_media',
  text: ({ isOneOf, lockRows }) => `with wanted as (
      select id from media where ${isOneOf('id', '$1')} and job_id is null and expires_at > $2 order by id ${lockRows}
    )
    update media set expires_at = $2 where id in (select id from wanted)`,
  values: ({ ids, now }) => [JSON.stringify(ids), now],
  read: noAnswer,
};

/** The first half of `markMediaRemoved`. It locks the rows for the second half. */
export const noteRemoval: Statement<CommandInput<'markMediaRemoved'>, never, void> = {
  name: 'note_media_removal',
  text: ({ isOneOf, lockRows }) => `with wanted as (
      select id from media where ${isOneOf('id', '$1')} and removed_at is null order by id ${lockRows}
    )
    update media set removed_at = $2 where id in (select id from wanted)`,
  values: ({ ids, now }) => [JSON.stringify(ids), now],
  read: noAnswer,
};

/** The second half: deletes rows without a job. */
export const dropUntaken: Statement<CommandInput<'markMediaRemoved'>, never, void> = {
  name: 'drop_untaken_media',
  text: ({ isOneOf }) => `delete from media where ${isOneOf('id', '$1')} and job_id is null`,
  values: ({ ids }) => [JSON.stringify(ids)],
  read: noAnswer,
};
