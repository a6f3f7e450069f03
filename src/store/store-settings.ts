import { z } from 'zod';
import { postgresUrl, type VariableValues } from '../kit/variables.ts';

export const storeVariables = {
  DATA_DIR: z
    .string()
    .default('./data')
    .describe('folder of the embedded store, results, lead index and generated wallets'),
  DATABASE_URL: postgresUrl
    .optional()
    .describe('`postgres://…` keeps accounts, ledger, jobs and payments in PostgreSQL'),
};

export type StoreSettings = ReturnType<typeof readStoreSettings>;

export const readStoreSettings = (values: VariableValues<typeof storeVariables>) => ({
  dataDir: values.DATA_DIR,
  /** Null keeps state in `dataDir`. */
  databaseUrl: values.DATABASE_URL ?? null,
});
