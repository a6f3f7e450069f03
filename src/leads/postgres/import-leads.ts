import { beginBatches } from '../import/begin-batches.ts';
import type { ImportOutcome, ImportProgress, ImportRequest, LeadBatch } from '../lead-keeper.ts';
import type { Lead } from '../lead-source.ts';
import { blocksTable, profilesTable } from './generation-tables.ts';
import { indexImport, type IndexImportInput } from './index-import.ts';
import { cancelOnAbort, inDatabase, withKeeperClient, withKeeperLock } from './keeper-session.ts';
import type { LeadsClient, LeadsDatabase } from './leads-database.ts';
import {
  beginImport,
  discardImport,
  endReading,
  findUnfinished,
  stageLeads,
  type UnfinishedImport,
} from './staged-import.ts';

/** Rows are staged, and the place where reading goes on is kept, when so many came in, */
const usualStageRows = 20_000;
/** or after this time. */
const stageEveryMs = 1_000;
const tellEveryMs = 250;

export interface ImportOptions {
  /** How many rows are staged at a time. */
  stageRows?: number;
  /** The sizes of the first parts that are made (write-run.ts). */
  partSizes?: readonly number[];
}

/**
 * Reads the input into the table `staged`, then takes it over (index-import.ts). An unfinished import of another input
 * is given up when this one has given a profile, or was read without one.
 */
export const importLeads = (
  database: LeadsDatabase,
  request: ImportRequest,
  { stageRows = usualStageRows, ...indexOptions }: ImportOptions,
): Promise<ImportOutcome> =>
  withKeeperLock(database, async (writer) => {
    const { input, mode, signal } = request;
    signal.throwIfAborted();
    const found = await inDatabase(() => findUnfinished(writer));
    const resumed =
      found !== null && found.inputKey !== null && found.inputKey === input.key && found.mode === mode
        ? found
        : null;
    /** Whether what is staged is this input's. */
    let isOurs = resumed !== null;
    const tell = createTeller(request, isOurs);
    const stageAll = async (): Promise<UnfinishedImport> => {
      if (resumed?.isRead === true) {
        input.resumeEnd?.(resumed.position);
        return resumed;
      }
      const { batches, close } = await beginBatches(input, { after: resumed?.position ?? null, signal });
      try {
        const begun = resumed ?? (await inDatabase(() => beginImport(writer, { inputKey: input.key, mode })));
        isOurs = true;
        return await stageInput(writer, { batches, signal, begun, tell, stageRows });
      } finally {
        await close();
      }
    };
    try {
      const staged = await stageAll();
      const outcome = await indexStaged(writer, { database, staged, signal, tell, ...indexOptions });
      // All of it is in and searched: what is left over does not take that back.
      await tidy(writer).catch(() => undefined);
      return outcome;
    } catch (error) {
      // What cannot be read twice, or is refused, is not gone on with.
      if (isOurs && (input.key === null || input.isRefused?.() === true))
        await discardImport(writer).catch(() => undefined);
      throw signal.aborted ? signal.reason : error;
    }
  });

interface IndexStagedInput extends Pick<IndexImportInput, 'staged' | 'signal' | 'partSizes'> {
  database: LeadsDatabase;
  tell: Tell;
}

const indexStaged = (
  writer: LeadsClient,
  { database, tell, ...input }: IndexStagedInput,
): Promise<ImportOutcome> =>
  withKeeperClient(database, (reader) =>
    inDatabase(async () => {
      const stopListening = await cancelOnAbort(database, {
        clients: [writer, reader],
        signal: input.signal,
      });
      try {
        return await indexImport({
          ...input,
          writer,
          reader,
          onProgress: ({ done, total }) => tell({ phase: 'indexing', done, total }),
        });
      } finally {
        stopListening();
      }
    }),
  );

type Tell = (progress: Omit<ImportProgress, 'isResumed'>) => void;

const createTeller = ({ onProgress }: ImportRequest, isResumed: boolean): Tell => {
  let toldAt = -Infinity;
  let toldPhase: ImportProgress['phase'] | null = null;
  return (progress) => {
    const now = performance.now();
    if (progress.phase === toldPhase && now - toldAt < tellEveryMs) return;
    toldAt = now;
    toldPhase = progress.phase;
    onProgress?.({ ...progress, isResumed });
  };
};

interface StageInput {
  batches: AsyncIterable<LeadBatch>;
  signal: AbortSignal;
  begun: UnfinishedImport;
  tell: Tell;
  stageRows: number;
}

const stageInput = async (
  writer: LeadsClient,
  { batches, signal, begun, tell, stageRows }: StageInput,
): Promise<UnfinishedImport> => {
  const salt = await inDatabase(() => readSalt(writer));
  let { rows, position } = begun;
  let stagedPosition = position;
  let waiting: Lead[] = [];
  let stagedAt = performance.now();

  const stage = async (): Promise<void> => {
    // Batches of refused rows alone move the position too.
    if (waiting.length === 0 && position === stagedPosition) return;
    const leads = waiting;
    await inDatabase(() => stageLeads(writer, { leads, position, first: rows, salt }));
    rows += leads.length;
    stagedPosition = position;
    waiting = [];
    stagedAt = performance.now();
  };
  const take = (batch: LeadBatch): void => {
    for (const lead of batch.leads) waiting.push(lead);
    position = batch.position;
  };

  for await (const batch of batches) {
    signal.throwIfAborted();
    take(batch);
    if (waiting.length >= stageRows || performance.now() - stagedAt >= stageEveryMs) await stage();
    tell({ phase: 'reading', done: rows + waiting.length, total: null });
  }
  await stage();
  await inDatabase(() => endReading(writer));
  return { ...begun, rows, position, isRead: true };
};

const readSalt = async (client: LeadsClient): Promise<string> => {
  const { rows } = await client.query('select salt from state');
  return String(rows[0]?.salt);
};

/** What is left over after an import. Where it fails or is cut off the next import does it. */
const tidy = async (client: LeadsClient): Promise<void> => {
  await client.query('truncate staged');
  await dropOldTables(client);
  // Each table by itself: none is locked for longer than its own turn.
  const { rows } = await client.query('select generation from state');
  const generation = Number(rows[0]?.generation);
  for (const table of [profilesTable, blocksTable])
    await client.query(`vacuum (analyze) ${table.name(generation)}`);
};

const lockNotAvailable = '55P03';

/** Drops the tables of other generations, unless somebody reads them yet: an export takes its time. */
const dropOldTables = async (client: LeadsClient): Promise<void> => {
  const { rows }: { rows: { name: string }[] } = await client.query(
    `select tablename as name from pg_tables, state
     where schemaname = current_schema() and tablename ~ '^(profiles|blocks)_[0-9]+$'
       and substring(tablename from '[0-9]+$')::integer <> state.generation`,
  );
  // While a drop waits for a lock, searches would wait behind it.
  await client.query(`set lock_timeout = '500ms'`);
  for (const { name } of rows) {
    try {
      await client.query(`drop table ${name}`);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === lockNotAvailable)) throw error;
    }
  }
  await client.query('reset lock_timeout');
};
