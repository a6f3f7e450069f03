import { stat } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import type { Config } from '../../config/config.ts';
import { ignoreEnoent } from '../../kit/files.ts';
import { toIso } from '../../kit/clock.ts';
import { isSandbox } from '../../providers/index.ts';
import { describeForeignSchema, migrations } from '../../store/migrations/migrations.ts';
import { embeddedStoreFile } from '../../store/open-store.ts';
import { clientConfig } from '../../store/postgres/connection.ts';
import { directAddress } from '../../store/store-settings.ts';
import { judgeClock, judgeWrite, orOk, problem, warning, type Check, type Findings } from './finding.ts';

/** Checks the store without a change of it, and by its newest jobs whether the last calls of the providers failed. */
export const checkStore: Check = async (config) => {
  const url = directAddress(config);
  return url === null
    ? lookAtFile(embeddedStoreFile(config.dataDir), config.providers)
    : lookAtPostgres(url, config.providers);
};

type Providers = Config['providers'];

/** Reads who made the newest jobs. Ids of jobs are in the order of time. */
const newestMakers = `select metadata, finished_at from jobs
  where status in ('done', 'failed') and metadata is not null order by id desc limit 1000`;

const judgeLastCalls = (jobs: Record<string, unknown>[], providers: Providers): Findings => {
  const failedAt = new Map<string, unknown>();
  for (const { metadata, finished_at: at } of jobs) {
    const made: { provider?: string; failedProviders?: string[] } = JSON.parse(String(metadata));
    if (made.provider !== undefined && !failedAt.has(made.provider)) failedAt.set(made.provider, null);
    for (const name of made.failedProviders ?? []) if (!failedAt.has(name)) failedAt.set(name, at);
  }
  return Object.entries(providers).map(([name, settings]) => {
    const at = failedAt.get(name) ?? null;
    return (
      at !== null &&
      !isSandbox(settings) &&
      warning(
        `The last call of the provider ${name} failed, at ${toIso(Number(at))}.`,
        'Read the reason in the log: the line of that time that names the provider.',
      )
    );
  });
};

/** Runs a statement that both engines read. */
type Read = (text: string) => Promise<Record<string, unknown>[]>;

/** Reads the store without a change of it. Resolves with null if there is none yet. Rejects if it cannot be opened. */
export const readStore = async <T>(config: Config, work: (read: Read) => Promise<T>): Promise<T | null> => {
  const url = directAddress(config);
  if (url === null) return readFile(embeddedStoreFile(config.dataDir), work);
  const client = await connect(url);
  try {
    return await work(readerOf(client));
  } finally {
    await client.end();
  }
};

const readFile = async <T>(file: string, work: (read: Read) => Promise<T>): Promise<T | null> => {
  if ((await ignoreEnoent(stat(file))) === null) return null;
  using database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  return await work(async (text) => database.prepare(text).all());
};

const lookAtFile = async (file: string, providers: Providers): Promise<Findings> => {
  try {
    const found = await readFile(file, (read) =>
      lookAtTables(read, { store: 'The embedded store', providers }),
    );
    return found ?? warning('There is no embedded store yet.', 'Start the gateway; it makes one.');
  } catch (error) {
    return problem(
      `The embedded store ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
      'Run this as the user of the gateway. If the file is damaged, restore a backup (docs/operators.md).',
    );
  }
};

const lookAtTables = async (
  read: Read,
  { store, providers }: { store: string; providers: Providers },
): Promise<Findings> => {
  const names = await read(`select name from kysely_migration`);
  return [
    judgeSchema(
      names.map(({ name }) => String(name)),
      store,
    ),
    judgeLastCalls(await read(newestMakers), providers),
  ];
};

const judgeSchema = (executed: readonly string[], store: string): Findings => {
  const foreign = describeForeignSchema(executed);
  const missing = Object.keys(migrations).filter((name) => !executed.includes(name));
  return orOk(
    [
      foreign !== null && problem(toSentence(foreign.fact), toSentence(foreign.remedy)),
      foreign === null &&
        missing.length > 0 &&
        warning(
          `The store lacks ${missing.length === 1 ? 'a migration' : `${missing.length} migrations`} (${missing.join(', ')}).`,
          'Make a backup; the next start of this version migrates it.',
        ),
    ],
    `${store} has the schema of this version.`,
  );
};

const toSentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

const longestWaitMs = 5_000;
const oldestPostgres = 150_000;

/** Rejects if PostgreSQL cannot be reached. */
const connect = async (url: string): Promise<InstanceType<typeof Client>> => {
  const client = new Client(
    clientConfig({
      url,
      schema: 'public',
      isPooled: false,
      connectTimeoutMs: longestWaitMs,
      statementTimeoutMs: longestWaitMs,
    }),
  );
  // A connection that breaks rejects the query that waits.
  client.on('error', () => undefined);
  await client.connect();
  return client;
};

const readerOf =
  (client: InstanceType<typeof Client>): Read =>
  async (text) =>
    (await client.query<Record<string, unknown>>(text)).rows;

const lookAtPostgres = async (url: string, providers: Providers): Promise<Findings> => {
  let client: InstanceType<typeof Client>;
  try {
    client = await connect(url);
  } catch (error) {
    return problem(
      `DATABASE_URL: PostgreSQL cannot be reached (${reasonOf(error)}).`,
      'Start it, or correct the address, the user or the password.',
    );
  }
  try {
    return [await lookAtServer(client), await lookAtSchema(client, providers), await timeWrite(client)];
  } finally {
    await client.end();
  }
};

/** One line of the server's or the system's own words, which name neither the password nor the address. */
const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
};

interface ServerRow {
  version: string;
  number: string;
  fsync: string;
  commit: string;
  now: number;
  can_write: boolean;
}

const lookAtServer = async (client: InstanceType<typeof Client>): Promise<Findings> => {
  const askedAt = Date.now();
  const { rows } = await client.query<ServerRow>(
    `select current_setting('server_version') as version, current_setting('server_version_num') as number,
      current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
      cast(extract(epoch from clock_timestamp()) * 1000 as double precision) as now,
      not pg_is_in_recovery() as can_write`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('PostgreSQL answered without a row');
  const middle = (askedAt + Date.now()) / 2;
  return orOk(
    [
      Number(row.number) < oldestPostgres &&
        problem(`PostgreSQL is version ${row.version}, and 15 is needed.`, 'Upgrade PostgreSQL.'),
      !row.can_write &&
        problem(
          'DATABASE_URL names a standby of PostgreSQL, which takes no writes.',
          'Name the primary server.',
        ),
      row.fsync === 'off' &&
        problem('PostgreSQL runs with fsync = off, so a crash can lose money.', 'Set fsync = on.'),
      row.commit === 'off' &&
        problem(
          'PostgreSQL runs with synchronous_commit = off, so a crash can lose money.',
          'Set synchronous_commit = on.',
        ),
      judgeClock("PostgreSQL's clock", row.now - middle),
    ],
    `PostgreSQL ${row.version} answers, and its clock agrees.`,
  );
};

const lookAtSchema = async (client: InstanceType<typeof Client>, providers: Providers): Promise<Findings> => {
  const read = readerOf(client);
  const [row] = await read(`select to_regclass('kysely_migration') is not null as found`);
  if (row?.['found'] !== true)
    return warning('The database has no tables yet.', 'Start the gateway; it creates them.');
  return lookAtTables(read, { store: 'The database', providers });
};

/** Commits a message that is only written to the log of PostgreSQL, as durably as a row, and that nobody reads. */
const timeWrite = async (client: InstanceType<typeof Client>): Promise<Findings> => {
  const beganAt = performance.now();
  try {
    await client.query(`select pg_logical_emit_message(true, 'causeway', 'doctor')`);
  } catch (error) {
    return warning(
      `A durable write could not be timed (${reasonOf(error)}).`,
      'Nothing, if the gateway works.',
    );
  }
  return judgeWrite(
    'A durable write to PostgreSQL',
    performance.now() - beganAt,
    'Bring the gateway nearer to the database, or give the database a faster disk.',
  );
};
