import type { DatabaseSync } from 'node:sqlite';
import type { CommandInput } from '../commands.ts';
import { dropUntaken, noteRemoval, resultMediaColumns, takeReserved } from '../statements/media.ts';
import type { FinishJobInput } from '../store.ts';
import { prepare, prepareSql } from './prepare.ts';

export const markMediaRemovedCommand = (
  database: DatabaseSync,
): ((input: CommandInput<'markMediaRemoved'>) => void) => {
  const note = prepare(database, noteRemoval);
  const drop = prepare(database, dropUntaken);
  return (input) => {
    note(input);
    drop(input);
  };
};

/** Gives a job its results, reserved or new. */
export const takeResults = (
  database: DatabaseSync,
): ((input: Pick<FinishJobInput, 'media' | 'now'>) => void) => {
  const take = prepareSql(
    database,
    `insert into media (${resultMediaColumns}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) ${takeReserved}`,
  );
  return ({ media, now }) => {
    for (const [
      position,
      { id, accountId, jobId, role, contentType, sizeBytes, expiresAt },
    ] of media.entries())
      take.run(id, accountId, jobId, role, position, contentType, sizeBytes, now, expiresAt);
  };
};
