import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

const serverUrl = process.env['TEST_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';

/** A PostgreSQL database of the test's own; null, with a line that says so, where no server can be reached. */
export const createTestDatabase = async (): Promise<{ url: string; drop(): Promise<void> } | null> => {
  const name = `causeway_cli_${randomBytes(8).toString('hex')}`;
  try {
    await runOnServer(`create database ${name}`);
  } catch (error) {
    if (process.env['CI'] !== undefined) throw error;
    console.warn('skipped: PostgreSQL cannot be reached');
    return null;
  }
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => runOnServer(`drop database if exists ${name} with (force)`) };
};

const runOnServer = async (statement: string): Promise<void> => {
  const client = new Client({ connectionString: serverUrl, connectionTimeoutMillis: 5_000 });
  try {
    await client.connect();
    await client.query(statement);
  } finally {
    await client.end();
  }
};
