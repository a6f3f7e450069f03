import { z } from 'zod';
import { ConfigError } from '../kit/errors.ts';
import { postgresUrl, type VariableValues } from '../kit/settings.ts';

export const storeVariables = {
  DATA_DIR: z
    .string()
    .default('./data')
    .describe('folder of the embedded store, results, lead index and generated wallets'),
  DATABASE_URL: postgresUrl
    .optional()
    .describe('`postgres://…` keeps accounts, ledger, jobs, payments and imported profiles in PostgreSQL'),
  DATABASE_DIRECT_URL: postgresUrl
    .optional()
    .describe(
      'the same database without the [pooler](operators.md#pgbouncer), if `DATABASE_URL` leads to one',
    ),
};

export interface StoreSettings {
  /** Null keeps state in `dataDir`. */
  databaseUrl: string | null;
  /** Set if `databaseUrl` leads to a pooler in transaction mode. */
  databaseDirectUrl?: string | undefined;
  dataDir: string;
}

export const readStoreSettings = (values: VariableValues<typeof storeVariables>): StoreSettings => {
  const { DATA_DIR: dataDir, DATABASE_URL: databaseUrl = null, DATABASE_DIRECT_URL: directUrl } = values;
  if (directUrl !== undefined && databaseUrl === null)
    throw new ConfigError(
      'DATABASE_DIRECT_URL: it needs DATABASE_URL beside it; without a pooler, set DATABASE_URL alone',
    );
  return { dataDir, databaseUrl, databaseDirectUrl: directUrl === databaseUrl ? undefined : directUrl };
};

/** Returns the address of PostgreSQL itself; null for the embedded store. */
export const directAddress = ({
  databaseUrl,
  databaseDirectUrl,
}: Omit<StoreSettings, 'dataDir'>): string | null => databaseDirectUrl ?? databaseUrl;
