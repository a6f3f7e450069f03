import type { Engine } from '../engine.ts';

/**
 * Inputs and results; `job_id` is null until a job takes them. `made_clips`: videos that were made here, by the hexadecimal
 * SHA-256 of their bytes, with their ordered seconds.
 */
export const media = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table media (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    job_id ${id} references jobs (id),
    role text not null default 'image' check (role in ('image', 'video', 'last_frame', 'input')),
    position ${int64} not null default 0,
    content_type text not null,
    size_bytes ${int64} not null check (size_bytes >= 0),
    created_at ${int64} not null,
    expires_at ${int64} not null,
    removed_at ${int64}
  )${tableEnd}`,
  `create index media_by_job on media (job_id) where job_id is not null`,
  `create index media_to_remove on media (expires_at, id) where removed_at is null`,
  `create table made_clips (
    digest ${id} not null primary key,
    seconds ${int64} not null,
    created_at ${int64} not null
  )${tableEnd}`,
  `create index made_clips_by_age on made_clips (created_at)`,
];
