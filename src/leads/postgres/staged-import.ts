import type { Json } from '../../kit/json.ts';
import type { ImportRequest } from '../lead-keeper.ts';
import type { Lead } from '../lead-source.ts';
import { copyRows, float8, int8, text, type BinaryRow } from './copy-rows.ts';
import { inTransaction } from './in-transaction.ts';
import type { LeadsClient } from './leads-database.ts';
import { digestText, personDigest } from './person-digest.ts';

/** An import under way, as it stands in the table `unfinished`. */
export interface UnfinishedImport {
  inputKey: string | null;
  mode: ImportRequest['mode'];
  /** Where reading goes on; null at the beginning. */
  position: Json;
  /** Rows staged so far. */
  rows: number;
  /** Whether all rows of the input are staged. */
  isRead: boolean;
  startedAt: number;
}

export const findUnfinished = async (client: LeadsClient): Promise<UnfinishedImport | null> => {
  const { rows } = await client.query('select * from unfinished');
  const [row] = rows;
  if (row === undefined) return null;
  return {
    inputKey: row.input_key,
    mode: row.mode === 'replace' ? 'replace' : 'upsert',
    position: row.position === null ? null : JSON.parse(row.position),
    rows: row.rows,
    isRead: row.is_read,
    startedAt: row.started_at,
  };
};

/** Gives up whatever import was under way, and begins this one. */
export const beginImport = async (
  client: LeadsClient,
  { inputKey, mode }: Pick<UnfinishedImport, 'inputKey' | 'mode'>,
): Promise<UnfinishedImport> => {
  const begun = { inputKey, mode, position: null, rows: 0, isRead: false, startedAt: Date.now() };
  await inTransaction(client, async () => {
    await discardImport(client);
    await client.query('insert into unfinished (input_key, mode, started_at) values ($1, $2, $3)', [
      inputKey,
      mode,
      begun.startedAt,
    ]);
  });
  return begun;
};

export const discardImport = async (client: LeadsClient): Promise<void> => {
  await client.query('truncate staged');
  await client.query('delete from unfinished');
};

/**
 * Stages `leads`, the next ones of the input, and says in the same transaction where reading goes on behind them.
 * Profiles of forgotten people are counted, but reach no table.
 */
export const stageLeads = async (
  client: LeadsClient,
  { leads, position, first, salt }: { leads: readonly Lead[]; position: Json; first: number; salt: string },
): Promise<void> =>
  inTransaction(client, async () => {
    const rows = leads.map((lead, index): StagedRow => ({
      row: first + index,
      person: personDigest(lead.username, salt),
      lead,
    }));
    const forgotten = await findForgotten(client, rows);
    await copyRows(client, {
      table: 'staged',
      columns: ['row', 'person', 'followers', 'username', 'lead'],
      rows: binaryRows(rows.filter(({ person }) => !forgotten.has(digestText(person)))),
    });
    await client.query('update unfinished set position = $1, rows = $2', [
      JSON.stringify(position),
      first + leads.length,
    ]);
  });

export const endReading = async (client: LeadsClient): Promise<void> => {
  await client.query('update unfinished set is_read = true');
  // For the plans of what follows.
  await client.query('analyze staged');
};

interface StagedRow {
  row: number;
  /** person-digest.ts */
  person: Buffer;
  lead: Lead;
}

function* binaryRows(rows: readonly StagedRow[]): Generator<BinaryRow> {
  for (const { row, person, lead } of rows)
    yield [int8(row), person, float8(lead.followers), text(lead.username), text(JSON.stringify(lead))];
}

/** Those of the people of `rows` who are forgotten, as digestText. Nothing is looked up where nobody at all is. */
const findForgotten = async (
  client: LeadsClient,
  rows: readonly StagedRow[],
): Promise<ReadonlySet<string>> => {
  const { rowCount } = await client.query('select from forgotten limit 1');
  if (rowCount === 0) return new Set();
  const { rows: found }: { rows: { person: string }[] } = await client.query(
    `select replace(person::text, '-', '') as person from forgotten where person = any($1::uuid[])`,
    [rows.map(({ person }) => digestText(person))],
  );
  return new Set(found.map(({ person }) => person));
};
