import type { Nano } from '../../kit/money.ts';
import { firstOf, statement, valuesOf } from '../statement.ts';

/**
 * Whoever opens or pays for a job must first lock the account's row, so nothing that is read under this lock can change,
 * except that the key may be revoked.
 */
export const lockAccount = statement({
  text: ({ lockRows }) => `select status, balance - held as available,
      exists (select 1 from api_keys where id = $2 and account_id = $1 and revoked_at is null) as has_key
    from accounts where id = $1 ${lockRows}`,
  values: valuesOf<{ accountId: string; keyId: string }>('accountId', 'keyId'),
  read: firstOf((row: { status: string; available: Nano; has_key: bigint | boolean }) => ({
    available: row.available,
    isUsable: row.status === 'active' && Boolean(row.has_key),
  })),
});
