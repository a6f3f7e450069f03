import { read, write } from '../command.ts';
import { countRows, firstOf, nothing, valuesOf } from '../statement.ts';

/** Stores the length of a video that was made here, by the SHA-256 of its bytes. A second call keeps the first length. */
export const noteMadeClip = write({
  text: `insert into made_clips (digest, seconds, created_at) values ($1, $2, $3)
    on conflict (digest) do update set created_at = excluded.created_at`,
  values: valuesOf<{ digest: string; seconds: number; now: number }>('digest', 'seconds', 'now'),
  read: nothing,
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
