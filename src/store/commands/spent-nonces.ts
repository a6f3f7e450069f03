import { write } from '../command.ts';
import { countRows, hasRows, valuesOf } from '../statement.ts';

/** Marks a nonce as used, for all processes, until `expiresAt`. False if it was used before. */
export const spendNonce = write({
  text: `insert into spent_nonces (nonce, expires_at) values ($1, $2)
    on conflict (nonce) do nothing returning 1 as spent`,
  values: valuesOf<{ nonce: string; expiresAt: number }>('nonce', 'expiresAt'),
  read: hasRows,
});

/** Deletes up to `limit` nonces that have expired. Returns how many. */
export const sweepSpentNonces = write({
  text: ({ lockFreeRows }) => `with over as (
      select nonce from spent_nonces where expires_at <= $1 order by expires_at limit $2 ${lockFreeRows}
    )
    delete from spent_nonces where nonce in (select nonce from over) returning 1 as removed`,
  values: valuesOf<{ now: number; limit: number }>('now', 'limit'),
  read: countRows,
});
