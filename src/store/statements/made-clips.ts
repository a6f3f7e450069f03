import type { CommandInput } from '../commands.ts';
import { firstOf, type Statement } from './statement.ts';

export const noteMadeClip: Statement<CommandInput<'noteMadeClip'>, never, void> = {
  name: 'note_made_clip',
  text: () => `insert into made_clips (digest, seconds, created_at) values ($1, $2, $3)
    on conflict (digest) do update set created_at = excluded.created_at`,
  values: ({ digest, seconds, now }) => [digest, seconds, now],
  read: () => undefined,
};

export const sweepMadeClips: Statement<CommandInput<'sweepMadeClips'>, unknown, number> = {
  name: 'sweep_made_clips',
  text: ({ lockFreeRows }) => `with over as (
      select digest from made_clips where created_at < $1 order by created_at limit $2 ${lockFreeRows}
    )
    delete from made_clips where digest in (select digest from over) returning 1 as removed`,
  values: ({ madeBefore, limit }) => [madeBefore, limit],
  read: (rows) => rows.length,
};

export const findMadeClip: Statement<string, { seconds: bigint }, number | null> = {
  name: 'find_made_clip',
  text: () => 'select seconds from made_clips where digest = $1',
  values: (digest) => [digest],
  read: firstOf(({ seconds }) => Number(seconds)),
};
