import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../limits/listening-port.ts';
import { postgresUrl } from '../store/open-store-at.ts';
import { startProgram } from './start-program.ts';

/** Every role may connect. The rest is what docs/operators.md recommends. */
const settings = (server: URL, port: number): string => `[databases]
* = host=${server.hostname} port=${server.port || 5432} auth_user=${server.username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_query = select usename, passwd from pg_shadow where usename = $1
pool_mode = transaction
default_pool_size = 10
max_db_connections = 40
max_client_conn = 1000
server_idle_timeout = 10
`;

/**
 * Runs once before the tests of a fleet (`globalSetup`). Starts PgBouncer in front of PostgreSQL, which must trust
 * connections from this machine, and names it in TEST_POOLER_URL.
 */
export const setup = async (): Promise<() => Promise<void>> => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-pooler-'));
  const file = join(folder, 'pgbouncer.ini');
  const server = new URL(postgresUrl);
  const port = await freePort();
  await writeFile(file, settings(server, port));
  // It does not run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const stop = await startProgram('pgbouncer', { args: [...user, file], port });
  const url = new URL(postgresUrl);
  url.host = `127.0.0.1:${port}`;
  process.env['TEST_POOLER_URL'] = url.href;
  return async () => {
    await stop();
    await rm(folder, { recursive: true });
  };
};
