import { randomUUID } from 'node:crypto';
import type { TestStore } from './open-test-store.ts';

/** Adds an event that is due at `at` for each of the first ports of a host. All have one body. */
export const announceToMany = async (
  { sql }: Pick<TestStore, 'sql'>,
  { accountId, host, ports, at }: { accountId: string; host: string; ports: number; at: number },
): Promise<void> => {
  await sql(`with recursive numbers (port) as (select 1 union all select port + 1 from numbers where port < ${ports})
    insert into webhook_events (id, account_id, event, url, body, state, next_attempt_at, created_at, updated_at)
    select '${randomUUID()} ' || port, '${accountId}', 'webhook.test', '${host}:' || port || '/', '{}',
      'pending', ${at}, ${at}, ${at} from numbers`);
};
