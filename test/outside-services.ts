import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { createClient } from '@keyv/redis';
import { Client } from 'pg';
import { expect, inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { postgresUrl } from './store/open-store-at.ts';

export { postgresUrl };

declare module 'vitest' {
  interface ProvidedContext {
    missingServices: OutsideService[];
    /** A file with a line for each suite that did not run: the service it needs, and its file. */
    notRunFile: string;
    /** Begins the names of the schemas of this run, so that its end finds those that are left. */
    schemaPrefix: string;
  }
}

/** The services that some suites need and that `npm install` does not bring. */
export type OutsideService = 'PostgreSQL' | 'Redis' | 'redis-server';

export const redisUrl = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';

const services: Record<
  OutsideService,
  {
    /** Rejects when the service does not answer. */
    check: () => Promise<void>;
    howToGet: string;
  }
> = {
  PostgreSQL: {
    check: async () => {
      const client = new Client({ connectionString: postgresUrl, connectionTimeoutMillis: 30_000 });
      await client.connect();
      await client.end();
    },
    howToGet: `start PostgreSQL 15 or newer at ${postgresUrl}, or name another server in TEST_DATABASE_URL`,
  },
  Redis: {
    check: async () => {
      const socket = { reconnectStrategy: false as const, connectTimeout: 30_000 };
      const client = createClient({ url: redisUrl, socket });
      client.on('error', () => undefined);
      await client.connect();
      client.destroy();
    },
    howToGet: `start Redis 7 or newer at ${redisUrl}, or name another server in REDIS_URL`,
  },
  'redis-server': {
    check: async () => {
      await promisify(execFile)('redis-server', ['--version']);
    },
    howToGet:
      'install Redis, so that the program redis-server is on the PATH (these tests kill servers of their own)',
  },
};

const names = Object.keys(services) as OutsideService[];

/**
 * Runs once before all tests (`globalSetup`). Under CI every service must be there. The tests and their processes get a
 * temporary folder of their own, and a run that leaves something there fails.
 */
export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const checks = await Promise.allSettled(names.map((name) => services[name].check()));
  const missing = names.filter((_name, index) => checks[index]?.status === 'rejected');
  if (missing.length > 0 && process.env['CI'] !== undefined) {
    throw new Error(missing.map((name) => `${name} is missing: ${services[name].howToGet}.`).join('\n'));
  }
  const folder = mkdtempSync(join(tmpdir(), 'causeway-tests-'));
  const notRunFile = join(folder, 'not-run');
  writeFileSync(notRunFile, '');
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary);
  // Some tests look at it as another user.
  chmodSync(folder, 0o711);
  process.env['TMPDIR'] = temporary;
  project.provide('missingServices', missing);
  project.provide('notRunFile', notRunFile);
  const schemaPrefix = `store_test_${randomBytes(4).toString('hex')}_`;
  project.provide('schemaPrefix', schemaPrefix);
  return async () => {
    if (!missing.includes('PostgreSQL')) await dropSchemas(schemaPrefix);
    const lines = new Set(readFileSync(notRunFile, 'utf8').split('\n'));
    const left = readdirSync(temporary, { recursive: true });
    rmSync(folder, { recursive: true, maxRetries: 5 });
    for (const name of missing) {
      const files = [...lines]
        .filter((line) => line.startsWith(`${name}\t`))
        .map((line) => line.split('\t')[1]);
      if (files.length === 0) continue;
      process.stdout.write(
        `\n${name} is missing, so these files ran in part or not at all:\n` +
          `${files.map((file) => `  ${file}\n`).join('')}To run them, ${services[name].howToGet}.\n`,
      );
    }
    if (left.length > 0)
      throw new Error(
        `the tests leave this in the temporary folder, and must remove it: ${left.slice(0, 20).join(', ')}`,
      );
  };
};

const dropSchemas = async (prefix: string): Promise<void> => {
  const client = new Client({ connectionString: postgresUrl, connectionTimeoutMillis: 30_000 });
  await client.connect();
  try {
    const { rows } = await client.query<{ nspname: string }>(
      `select nspname from pg_namespace where starts_with(nspname, '${prefix}')`,
    );
    for (const { nspname } of rows) await client.query(`drop schema ${nspname} cascade`);
    const { rows: roles } = await client.query<{ rolname: string }>(
      `select rolname from pg_roles where starts_with(rolname, '${prefix}')`,
    );
    for (const { rolname } of roles) await client.query(`drop role ${rolname}`);
  } finally {
    await client.end();
  }
};

/** Tells whether a suite can run. A suite that cannot is named in the last lines of the test run. */
export const hasService = (name: OutsideService): boolean => {
  if (!inject('missingServices').includes(name)) return true;
  const file = relative(process.cwd(), expect.getState().testPath ?? 'an unknown file');
  appendFileSync(inject('notRunFile'), `${name}\t${file}\n`);
  return false;
};
