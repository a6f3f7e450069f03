import { TypeOverrides, type ClientConfig, type Pool as PgPool } from 'pg';

export type Pool = InstanceType<typeof PgPool>;

export interface ConnectionOptions {
  /** `postgres://` URL. */
  url: string;
  /** The schema that holds the tables. */
  schema: string;
  /** How long to wait for a connection, a free one of the pool included. */
  connectTimeoutMs: number;
  /** The server ends a statement that takes longer. */
  statementTimeoutMs: number;
}

const int8 = 20;
/** The server has the first word on a slow statement; ours is for a server that does not answer at all. */
const answerGraceMs = 5_000;

/** Integers come back as bigint, as from SQLite. */
const typeParsers = (): TypeOverrides => {
  const parsers = new TypeOverrides();
  parsers.setTypeParser(int8, (text) => BigInt(text));
  return parsers;
};

/** In the URL, as what stands there wins over other settings; options that are there already are kept. */
const withSearchPath = (url: string, schema: string): string => {
  const address = new URL(url);
  const given = address.searchParams.get('options') ?? '';
  address.searchParams.set('options', `${given} -c search_path=${schema}`.trim());
  return address.href;
};

/** What every connection of the store has in common. */
export const clientConfig = ({
  url,
  schema,
  connectTimeoutMs,
  statementTimeoutMs,
}: ConnectionOptions): ClientConfig => ({
  connectionString: withSearchPath(url, schema),
  application_name: 'causeway',
  connectionTimeoutMillis: connectTimeoutMs,
  statement_timeout: statementTimeoutMs,
  idle_in_transaction_session_timeout: statementTimeoutMs,
  query_timeout: statementTimeoutMs + answerGraceMs,
  keepAlive: true,
  types: typeParsers(),
});
