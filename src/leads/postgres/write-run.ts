import { randomUUID } from 'node:crypto';
import type { RunLimits } from '../query/run-terms.ts';
import { copyRows, int4, text, type BinaryRow } from './copy-rows.ts';
import { blocksTable, profilesTable } from './generation-tables.ts';
import type { LeadsClient } from './leads-database.ts';
import { createPartBuilder, mostPartProfiles, type BuiltPart } from './part/build-part.ts';
import type { StoredLead } from './stored-lead.ts';

export interface WriteRunInput {
  /** In the order of results, each person once. */
  leads: AsyncIterable<StoredLead[]>;
  /** Whose tables are written. */
  generation: number;
  /** Whether these tables were made in the same transaction. */
  areNewTables: boolean;
  signal: AbortSignal;
  onProgress: (profiles: number) => void;
  /** How many profiles the first parts get at most, the last number being that of all further ones. */
  partSizes?: readonly number[];
  /** What ends a part before, */
  partLimits?: RunLimits;
  /** and so does JSON of so many UTF-16 units. */
  partJsonUnits?: number;
}

/** Small ones first: most searches look into the first part alone. */
const usualPartSizes = [8_192, 16_384, 32_768, mostPartProfiles];
/** More than usual profiles ever take: bounds the memory where texts are long and have few words. */
const usualPartJsonUnits = 64 * 2 ** 20;

/**
 * Writes a run of parts, in the transaction of `client`, and answers how many profiles it has. One part is in memory at
 * a time.
 */
export const writeRun = async (
  client: LeadsClient,
  {
    leads,
    generation,
    areNewTables,
    signal,
    onProgress,
    partSizes = usualPartSizes,
    partLimits,
    partJsonUnits = usualPartJsonUnits,
  }: WriteRunInput,
): Promise<number> => {
  const run = randomUUID();
  const builder = createPartBuilder(partLimits);
  let rows: StoredLead[] = [];
  let jsonUnits = 0;
  let parts = 0;
  let profiles = 0;

  const endPart = async (): Promise<void> => {
    signal.throwIfAborted();
    const part = builder.finish();
    const id = await insertPart(client, { part, run });
    await copyRows(client, {
      table: profilesTable.name(generation),
      columns: ['part', 'place', 'person', 'lead'],
      rows: profileRows(rows, id),
      isNewTable: areNewTables,
    });
    await copyRows(client, {
      table: blocksTable.name(generation),
      columns: ['part', 'start', 'data'],
      rows: blockRows(part, id),
      isNewTable: areNewTables,
    });
    rows = [];
    jsonUnits = 0;
    parts += 1;
    profiles += part.profiles;
    onProgress(profiles);
  };

  for await (const batch of leads) {
    for (const stored of batch) {
      builder.add(stored.lead);
      rows.push(stored);
      jsonUnits += stored.json.length;
      const isLongEnough = builder.profiles === (partSizes[parts] ?? partSizes.at(-1));
      if (isLongEnough || builder.isFull || jsonUnits >= partJsonUnits) await endPart();
    }
  }
  if (builder.profiles > 0) await endPart();
  return profiles;
};

const insertPart = async (
  client: LeadsClient,
  { part, run }: { part: BuiltPart; run: string },
): Promise<number> => {
  const { rows } = await client.query(
    `insert into parts (run, profiles, fences, most_followers, least_followers)
     values ($1, $2, $3, $4, $5) returning id`,
    [run, part.profiles, [...part.fences], part.mostFollowers, part.leastFollowers],
  );
  return Number(rows[0]?.id);
};

function* profileRows(rows: readonly StoredLead[], part: number): Generator<BinaryRow> {
  const partBytes = int4(part);
  for (const [place, { person, json }] of rows.entries())
    yield [partBytes, int4(place), Buffer.from(person.replaceAll('-', ''), 'hex'), text(json)];
}

function* blockRows(part: BuiltPart, id: number): Generator<BinaryRow> {
  const idBytes = int4(id);
  for (const { start, data } of part.blocks) yield [idBytes, start, data];
}
