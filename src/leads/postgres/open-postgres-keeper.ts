import type { LeadKeeper } from '../lead-keeper.ts';
import { exportLeads } from './export-leads.ts';
import { forgetPeople, rememberPeople } from './forget-people.ts';
import { importLeads, type ImportOptions } from './import-leads.ts';
import { inDatabase, withKeeperClient, withKeeperLock } from './keeper-session.ts';
import { readStats } from './read-stats.ts';
import { checkSchemaName, leadsSchema } from './schema-name.ts';

export interface PostgresKeeperOptions extends ImportOptions {
  /** `postgres://` URL. */
  url: string;
  schema?: string;
}

/**
 * The keeping of the profiles in PostgreSQL, beside any number of gateways and from any machine. Rejects with
 * LeadKeeperError `failed` when the database cannot be reached or made ready.
 */
export const openPostgresKeeper = async ({
  url,
  schema = leadsSchema,
  ...importOptions
}: PostgresKeeperOptions): Promise<LeadKeeper> => {
  checkSchemaName(schema);
  const database = { url, schema };
  await withKeeperClient(database, async () => undefined);
  return {
    importLeads: (request) => importLeads(database, request, importOptions),
    stats: () => withKeeperClient(database, (client) => inDatabase(() => readStats(client))),
    exportLeads: ({ signal }) => exportLeads(database, signal),
    forget: (usernames, { signal }) => {
      signal.throwIfAborted();
      return withKeeperLock(database, async (client) => ({
        removed: await inDatabase(() => forgetPeople(client, usernames)),
      }));
    },
    remember: (usernames) =>
      withKeeperLock(database, async (client) => ({
        restored: await inDatabase(() => rememberPeople(client, usernames)),
      })),
    close: async () => undefined,
  };
};
