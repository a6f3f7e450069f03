import { columns, integer, orNull, text, time, type RowOf } from '../columns.ts';
import { read, readBy, run, write, writeTransaction } from '../command.ts';
import { countRows, eachOf, firstOf, statement, valuesOf } from '../statement.ts';

export type MediaRole = 'image' | 'video' | 'last_frame' | 'input';

const mediaFields = {
  /** Unguessable: whoever has a result URL with this id may read the bytes. */
  id: text(),
  accountId: text(),
  /** Null while the medium is only reserved. `sizeBytes` is 0 then, and for an input always. */
  jobId: orNull(text()),
  role: text<MediaRole>(),
  contentType: text(),
  sizeBytes: integer(),
  createdAt: time(),
  expiresAt: time(),
  removedAt: orNull(time()),
};
export type Media = RowOf<typeof mediaFields>;
const media = columns(mediaFields);

/** It expires at `expiresAt`, unless a job takes it. */
export interface ReservedMedia extends Pick<
  Media,
  'id' | 'accountId' | 'role' | 'contentType' | 'expiresAt'
> {
  now: number;
}

/**
 * Writes the row of a medium, without a job, before its bytes are written, so that no bytes can be orphaned. `openJob`
 * (`inputs`) and `finishJob` (`media`) give it its job and expiry.
 */
export const reserveMedia = write({
  text: `insert into media (id, account_id, role, content_type, size_bytes, created_at, expires_at)
    values ($1, $2, $3, $4, 0, $5, $6)`,
  values: valuesOf<ReservedMedia>('id', 'accountId', 'role', 'contentType', 'now', 'expiresAt'),
});

export const getMedia = readBy('media', 'id', media);

/** Lists the media of a job in the order in which they were attached: inputs when it was opened, results when it ended. */
export const listMedia = read({
  text: `select ${media.list()} from media where job_id = $1
    order by case role when 'input' then 0 else 1 end, position, id`,
  values: (jobId: string) => [jobId],
  read: eachOf(media.read),
});

export const listExpiredMedia = read({
  text: `select ${media.list()} from media where removed_at is null and expires_at <= $1
    order by expires_at, id limit $2`,
  values: valuesOf<{ now: number; limit: number }>('now', 'limit'),
  read: eachOf(media.read),
});

interface MediaAt {
  ids: readonly string[];
  now: number;
}

/** Expires media without a job. Locks rows in the order of their ids, so that two commands cannot deadlock. */
export const discardMedia = write({
  text: ({ isOneOf, lockRows }) => `with wanted as (
      select id from media where ${isOneOf('id', '$1')} and job_id is null and expires_at > $2 order by id ${lockRows}
    )
    update media set expires_at = $2 where id in (select id from wanted)`,
  values: valuesOf<MediaAt>('ids', 'now'),
});

const noteRemoval = statement({
  text: ({ isOneOf, lockRows }) => `with wanted as (
      select id from media where ${isOneOf('id', '$1')} and removed_at is null order by id ${lockRows}
    )
    update media set removed_at = $2 where id in (select id from wanted)`,
  values: valuesOf<MediaAt>('ids', 'now'),
});

const dropUntaken = statement({
  text: ({ isOneOf }) => `delete from media where ${isOneOf('id', '$1')} and job_id is null`,
  values: valuesOf<MediaAt>('ids'),
});

/** Marks media as removed. Rows of jobs stay, for the history; rows without a job are deleted. */
export const markMediaRemoved = writeTransaction(function* (input: MediaAt) {
  yield* run(noteRemoval, input);
  yield* run(dropUntaken, input);
});

/** Stores the length of a video that was made here, by the SHA-256 of its bytes. A second call keeps the first length. */
export const noteMadeClip = write({
  text: `insert into made_clips (digest, seconds, created_at) values ($1, $2, $3)
    on conflict (digest) do update set created_at = excluded.created_at`,
  values: valuesOf<{ digest: string; seconds: number; now: number }>('digest', 'seconds', 'now'),
});

/** Returns the seconds; null for a video that was not made here. */
export const findMadeClip = read({
  text: 'select seconds from made_clips where digest = $1',
  values: (digest: string) => [digest],
  read: firstOf(({ seconds }: { seconds: bigint }) => Number(seconds)),
});

/** Deletes up to `limit` of these records, of videos last made before `madeBefore`. Returns how many. */
export const sweepMadeClips = write({
  text: ({ lockFreeRows }) => `with over as (
      select digest from made_clips where created_at < $1 order by created_at limit $2 ${lockFreeRows}
    )
    delete from made_clips where digest in (select digest from over) returning 1 as removed`,
  values: valuesOf<{ madeBefore: number; limit: number }>('madeBefore', 'limit'),
  read: countRows,
});
