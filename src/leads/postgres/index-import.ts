import { foldingVersion } from '../query/fold-text.ts';
import type { ImportOutcome } from '../lead-keeper.ts';
import { blocksTable, profilesTable } from './generation-tables.ts';
import { addPlaces, removePlaces, type PlacesByPart } from './gone-places.ts';
import { inTransaction } from './in-transaction.ts';
import type { LeadsClient } from './leads-database.ts';
import { loadSnapshot, nextRevision, type Snapshot } from './load-snapshot.ts';
import { mergeLeads } from './merge-leads.ts';
import type { Part } from './part/part.ts';
import { readRows, readStoredLeads } from './read-rows.ts';
import { readRun, runsOf, runsToRewrite, type Run } from './runs.ts';
import type { UnfinishedImport } from './staged-import.ts';
import { writeRun } from './write-run.ts';

export interface IndexImportInput {
  /** Holds the lock; writes, in one transaction. */
  writer: LeadsClient;
  /** Reads meanwhile what stood before. */
  reader: LeadsClient;
  staged: UnfinishedImport;
  signal: AbortSignal;
  onProgress: (progress: { done: number; total: number }) => void;
  partSizes?: readonly number[];
}

/** What is known of the staged rows and of what they replace. */
interface Plan {
  snapshot: Snapshot;
  /** Staged rows that come in: the last one of each person who is not forgotten. */
  incoming: number;
  repeated: number;
  /** Where profiles stand that are replaced by staged ones. */
  replaced: PlacesByPart;
  replacedCount: number;
}

/**
 * Takes the staged rows over: in one transaction, so that searches see all of it at once, and that nothing is left of
 * it when it fails. When it writes all profiles anew, they go into tables of another generation, whose indexes are
 * made at the end. The staged rows are there until it is done.
 */
export const indexImport = async (input: IndexImportInput): Promise<ImportOutcome> => {
  const { writer, reader, staged } = input;
  await reader.query('begin isolation level repeatable read');
  // Sorts every staged profile, which is more than the few megabytes of a usual statement.
  await reader.query(`set local work_mem = '64MB'`);
  try {
    const plan = await planImport(reader);
    const profiles = await inTransaction(writer, () => write(plan, input));
    return {
      rows: staged.rows,
      added: plan.incoming - plan.replacedCount,
      updated: plan.replacedCount,
      repeated: plan.repeated,
      forgotten: staged.rows - plan.incoming - plan.repeated,
      profiles,
    };
  } finally {
    // What it read is taken over by now, or nothing is: that its connection was lost meanwhile changes neither.
    await reader.query('rollback').catch(() => undefined);
  }
};

const planImport = async (reader: LeadsClient): Promise<Plan> => {
  const snapshot = await loadSnapshot(reader);
  await reader.query(
    `create temporary table repeated on commit drop as
     select row from (
       select row, lead(row) over (partition by person order by row) as later from staged
     ) as rows where later is not null`,
  );
  await reader.query('analyze repeated');
  const { rows } = await reader.query(
    `select count(*) filter (where not is_repeated) as incoming, count(*) filter (where is_repeated) as repeated
     from (
       select exists (select from repeated where repeated.row = staged.row) as is_repeated from staged
       where not exists (select from forgotten where forgotten.person = staged.person)
     ) as known`,
  );
  const replaced: PlacesByPart = new Map();
  let replacedCount = 0;
  const parts = new Map(snapshot.parts.map((part) => [part.id, part]));
  const select = `
    select part, array_agg(place) as places from ${profilesTable.name(snapshot.generation)}
    where person in (select person from staged) group by part`;
  for await (const batch of readRows<{ part: number; places: number[] }>(reader, { select, batchRows: 4 })) {
    for (const { part: id, places } of batch) {
      const part = parts.get(id);
      if (part === undefined) throw new Error(`A profile stands in part ${id}, which is none.`);
      addPlaces(replaced, { part, places });
      replacedCount += places.length;
    }
  }
  return {
    snapshot,
    incoming: Number(rows[0]?.incoming),
    repeated: Number(rows[0]?.repeated),
    replaced,
    replacedCount,
  };
};

/** Answers how many profiles there are afterwards. */
const write = async (
  plan: Plan,
  { writer, reader, staged, signal, onProgress, partSizes }: IndexImportInput,
): Promise<number> => {
  const { snapshot, incoming, replaced } = plan;
  const runs = staged.mode === 'replace' ? [] : runsOf(snapshot.parts, replaced);
  const isFoldedAlike = snapshot.folding === foldingVersion;
  const rewritten = isFoldedAlike ? runsToRewrite(runs, incoming) : runs;
  const kept = runs.filter((run) => !rewritten.includes(run));
  const isAnew = kept.length === 0;
  const generation = isAnew ? snapshot.generation + 1 : snapshot.generation;

  if (isAnew) await createTables(writer, generation);
  else await clearPlaces(writer, { plan, kept, rewritten });
  const oldParts = isAnew ? snapshot.parts : rewritten.flatMap(({ parts }) => parts);
  const total = incoming + rewritten.reduce((sum, { profiles }) => sum + profiles, 0);
  const written = await writeRun(writer, {
    leads: mergeLeads([
      readStoredLeads(reader, { select: selectIncoming }),
      ...rewritten.map((run) => readRun(reader, { run, generation: snapshot.generation, without: replaced })),
    ]),
    generation,
    areNewTables: isAnew,
    signal,
    onProgress: (done) => onProgress({ done, total }),
    ...(partSizes === undefined ? {} : { partSizes }),
  });
  if (isAnew) await indexTables(writer, generation);
  await writer.query('delete from parts where id = any($1::integer[])', [oldParts.map(({ id }) => id)]);
  const profiles = written + kept.reduce((sum, run) => sum + run.profiles, 0);
  signal.throwIfAborted();
  await writer.query(
    `update state set ${nextRevision}, generation = $1, profiles = $2, unicode = $3, updated_at = $4`,
    [generation, profiles, foldingVersion, Date.now()],
  );
  await writer.query('delete from unfinished');
  return profiles;
};

/** The last row of each person who is not forgotten, in the order of results. */
const selectIncoming = `
  select person::text, lead from staged
  where not exists (select from repeated where repeated.row = staged.row)
    and not exists (select from forgotten where forgotten.person = staged.person)
  order by followers desc, username`;

const createTables = async (writer: LeadsClient, generation: number): Promise<void> => {
  for (const table of [profilesTable, blocksTable]) {
    await writer.query(`drop table if exists ${table.name(generation)}`);
    for (const statement of table.create(generation)) await writer.query(statement);
  }
};

const indexTables = async (writer: LeadsClient, generation: number): Promise<void> => {
  await writer.query(`set local maintenance_work_mem = '256MB'`);
  for (const table of [profilesTable, blocksTable]) {
    for (const statement of table.index(generation)) await writer.query(statement);
    await writer.query(`analyze ${table.name(generation)}`);
  }
};

/** Deletes what is replaced in the runs that stay, and everything of those that are written anew. */
const clearPlaces = async (
  writer: LeadsClient,
  { plan: { snapshot, replaced }, kept, rewritten }: { plan: Plan; kept: Run[]; rewritten: Run[] },
): Promise<void> => {
  const { generation } = snapshot;
  for (const part of kept.flatMap(({ parts }): Part[] => parts)) {
    const places = replaced.get(part.id);
    if (places !== undefined) await removePlaces(writer, { part, places, generation });
  }
  const old = rewritten.flatMap(({ parts }) => parts.map(({ id }) => id));
  for (const table of [profilesTable, blocksTable])
    await writer.query(`delete from ${table.name(generation)} where part = any($1::integer[])`, [old]);
};
