import { vi } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import type { Json } from '../../../src/kit/json.ts';
import type {
  ImportOutcome,
  ImportRequest,
  LeadBatch,
  LeadInput,
  LeadKeeper,
} from '../../../src/leads/lead-keeper.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import {
  openPostgresKeeper,
  type PostgresKeeperOptions,
} from '../../../src/leads/postgres/open-postgres-keeper.ts';
import {
  openPostgresLeads,
  type PostgresLeads,
  type PostgresLeadsOptions,
} from '../../../src/leads/postgres/open-postgres-leads.ts';
import { dropSchema, newSchemaName } from '../../store/open-test-store.ts';
import { postgresUrl } from '../../outside-services.ts';

/** A schema of its own, with what was opened on it. */
export interface LeadDatabase {
  schema: string;
  openKeeper: (options?: Partial<PostgresKeeperOptions>) => Promise<LeadKeeper>;
  openLeads: (options?: Partial<PostgresLeadsOptions>) => Promise<PostgresLeads>;
  /** Closes everything and removes the schema. */
  remove: () => Promise<void>;
}

export const createLeadDatabase = (): LeadDatabase => {
  const schema = newSchemaName();
  const opened: { close(): Promise<void> }[] = [];
  return {
    schema,
    openKeeper: async (options = {}) => {
      const keeper = await openPostgresKeeper({ url: postgresUrl, schema, ...options });
      opened.push(keeper);
      return keeper;
    },
    openLeads: async ({ limits = {}, ...options } = {}) => {
      const leads = await openPostgresLeads({
        url: postgresUrl,
        schema,
        log: silentLog,
        limits: { connections: 2, lookEveryMs: 10, ...limits },
        ...options,
      });
      opened.push(leads);
      return leads;
    },
    remove: async () => {
      for (const one of opened) await one.close();
      await dropSchema(schema);
    },
  };
};

/** A thread is started for each source, and again when it is lost: that takes its time on a busy machine. */
export const waitUntil = (condition: () => boolean | Promise<boolean>): Promise<boolean> =>
  vi.waitUntil(condition, { timeout: 10_000, interval: 10 });

export const noAbort = (): AbortSignal => new AbortController().signal;

/** `leads` as an input, in batches of a few. */
export const inputOf = (
  leads: readonly Lead[],
  { key = 'input', batchRows = 7 }: { key?: string | null; batchRows?: number } = {},
): LeadInput => ({
  key,
  async *read({ after, signal }: { after: Json; signal: AbortSignal }): AsyncGenerator<LeadBatch> {
    for (let start = typeof after === 'number' ? after : 0; start < leads.length; start += batchRows) {
      signal.throwIfAborted();
      yield { leads: leads.slice(start, start + batchRows), position: start + batchRows };
    }
  },
});

export const importAll = (
  keeper: LeadKeeper,
  leads: readonly Lead[],
  request: Partial<ImportRequest> = {},
): Promise<ImportOutcome> =>
  keeper.importLeads({ input: inputOf(leads), mode: 'upsert', signal: noAbort(), ...request });
