import { expect, it, describe } from 'vitest';
import { cancelOnAbort } from '../../../src/leads/postgres/keeper-session.ts';
import { connectToLeads } from '../../../src/leads/postgres/leads-database.ts';
import { hasService, postgresUrl } from '../../outside-services.ts';

describe.runIf(hasService('PostgreSQL'))('the end of statements by an abort', () => {
  it('comes also when the abort came before anybody listened for it', async () => {
    const database = { url: postgresUrl, schema: 'public' };
    const client = await connectToLeads(database, { statementTimeoutMs: 60_000 });
    try {
      await cancelOnAbort(database, { clients: [client], signal: AbortSignal.abort() });
      await expect(client.query('select pg_sleep(60)')).rejects.toThrow(
        'canceling statement due to user request',
      );
    } finally {
      await client.end();
    }
  });
});
