import type { CommandInput } from '../commands.ts';
import { dropUntaken, noteRemoval } from '../statements/media.ts';
import type { Pool } from './connection.ts';
import { inTransaction, prepare } from './sql.ts';

const note = prepare(noteRemoval);
const drop = prepare(dropUntaken);

export const markMediaRemovedCommand =
  (pool: Pool) =>
  (input: CommandInput<'markMediaRemoved'>): Promise<void> =>
    inTransaction(pool, async (sql) => {
      await note(sql, input);
      await drop(sql, input);
    });
