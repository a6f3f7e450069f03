import type { CommandInput, CommandOutput } from '../commands.ts';
import { freesItsKey } from '../frees-its-key.ts';
import { jobColumns, toJob, type JobRow } from '../rows.ts';
import type { Statement } from './statement.ts';

interface ClaimedJobRow extends JobRow {
  is_same_body: bigint | boolean;
}

export const findReplay: Statement<CommandInput<'findReplay'>, ClaimedJobRow, CommandOutput<'findReplay'>> = {
  name: 'find_replay',
  text: () => `select ${jobColumns}, i.body_hash = $4 as is_same_body
    from idempotency_keys i join jobs j on j.id = i.job_id join holds h on h.job_id = j.id
    where i.account_id = $1 and i.endpoint = $2 and i.idempotency_key = $3 and i.expires_at > $5`,
  values: ({ accountId, endpoint, key, bodyHash, now }) => [accountId, endpoint, key, bodyHash, now],
  read: ([row]) => {
    if (row === undefined) return null;
    const job = toJob(row);
    if (freesItsKey(job)) return null;
    return row.is_same_body ? { outcome: 'replayed', job } : { outcome: 'conflict' };
  },
};

/** Skips a key that a new job is claiming at this moment. */
export const sweepIdempotencyKeys: Statement<CommandInput<'sweepIdempotencyKeys'>, unknown, number> = {
  name: 'sweep_idempotency_keys',
  text: ({ lockFreeRows }) => `with over as (
      select account_id, endpoint, idempotency_key from idempotency_keys
      where expires_at <= $1 order by expires_at limit $2 ${lockFreeRows}
    )
    delete from idempotency_keys
    where (account_id, endpoint, idempotency_key) in (select account_id, endpoint, idempotency_key from over)
    returning 1 as removed`,
  values: ({ now, limit }) => [now, limit],
  read: (rows) => rows.length,
};
