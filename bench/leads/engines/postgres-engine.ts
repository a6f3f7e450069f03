import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Client } from 'pg';
import { createLog } from '../../../src/kit/log.ts';
import { openForgottenPeople } from '../../../src/leads/forgotten-people.ts';
import { openLeadIndex } from '../../../src/leads/open-lead-index.ts';
import { findLeads } from '../../../src/leads/postgres/lead-set.ts';
import { openPostgresLeads } from '../../../src/leads/postgres/open-postgres-leads.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { postgresUrl } from '../../../test/store/open-store-at.ts';
import { listBackends, withBackendSeconds } from '../measure/backends.ts';
import type { BenchEngine, BenchPlace } from './engine.ts';
import { importProfiles } from './import-profiles.ts';
import { searchSource } from './search-source.ts';

/** A database of the benchmark's own on the server of TEST_DATABASE_URL. */
const settingsOf = ({ folder, seed }: BenchPlace) => {
  const name = `causeway_bench_leads_${basename(folder)}_${seed}`;
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  return { name, dataDir: join(folder, 'postgres'), databaseUrl: url.href };
};

const connect = async (connectionString: string): Promise<InstanceType<typeof Client>> => {
  const client = new Client({ connectionString });
  await client.connect();
  return client;
};

const runOnServer = async (statement: string): Promise<void> => {
  const client = await connect(postgresUrl);
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
};

/** As many as a gateway has. */
const connections = 2;

export const postgresEngine: BenchEngine = {
  load: async (place) => {
    await postgresEngine.remove(place);
    const { name, ...settings } = settingsOf(place);
    await runOnServer(`create database ${name}`);
    const { result, seconds } = await withBackendSeconds(settings.databaseUrl, async () =>
      importProfiles(await openLeadIndex(settings), place),
    );
    return { ...result, serverCpuSeconds: seconds };
  },
  open: {
    gateway: async (place) => {
      const settings = settingsOf(place);
      const { databaseUrl: url } = settings;
      const log = createLog('error');
      const store = await openStore(settings, { log });
      const people = await openForgottenPeople(store);
      const sweep = (): Promise<void> => Promise.resolve();
      const known = await listBackends(url);
      const source = await searchSource(
        await openPostgresLeads({ url, people, sweep, openFictional: null, log }),
      );
      await Promise.all(Array.from({ length: connections }, () => source.search({ limit: 1 })));
      return {
        search: source.search,
        backends: (await listBackends(url)).filter((pid) => !known.includes(pid)),
        close: async () => {
          await source.close();
          await store.close();
        },
      };
    },
    direct: async (place) => {
      const client = await connect(settingsOf(place).databaseUrl);
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      return {
        search: (query) => findLeads(client, query),
        backends: rows.map(({ pid }) => pid),
        close: () => client.end(),
      };
    },
  },
  environment: (place) => ({ DATABASE_URL: settingsOf(place).databaseUrl }),
  remove: async (place) => {
    const { name, dataDir } = settingsOf(place);
    await runOnServer(`drop database if exists ${name} with (force)`);
    await rm(dataDir, { recursive: true, force: true });
  },
};
