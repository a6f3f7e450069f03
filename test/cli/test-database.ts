import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { hasService, postgresUrl } from '../outside-services.ts';

/** A PostgreSQL database of the test's own; null where no server answers. */
export const createTestDatabase = async (): Promise<{ url: string; drop(): Promise<void> } | null> => {
  if (!hasService('PostgreSQL')) return null;
  const name = `causeway_cli_${randomBytes(8).toString('hex')}`;
  await runOnServer(`create database ${name}`);
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => runOnServer(`drop database if exists ${name} with (force)`) };
};

const runOnServer = async (statement: string): Promise<void> => {
  const client = new Client({ connectionString: postgresUrl, connectionTimeoutMillis: 5_000 });
  try {
    await client.connect();
    await client.query(statement);
  } finally {
    await client.end();
  }
};
