import type { Engine } from './engine.ts';

/** Videos that were made here: hexadecimal SHA-256 of the bytes, ordered seconds, and time. */
export const madeClips = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table made_clips (digest ${id} not null primary key, seconds ${int64} not null,
    created_at ${int64} not null)${tableEnd}`,
  `create index made_clips_by_age on made_clips (created_at)`,
];
