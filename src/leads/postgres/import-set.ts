import { randomBytes, randomUUID } from 'node:crypto';
import { toTabLine } from '../../kit/text.ts';
import { toFacets } from '../facets.ts';
import type { ForgottenPeople, ForgottenSnapshot } from '../forgotten-people.ts';
import { checkList, toOutcome, type ImportOutcome, type ImportRequest } from '../lead-index.ts';
import type { Lead, LeadFacets } from '../lead-source.ts';
import { packLead, unpackLead } from '../lead-fields.ts';
import { foldingVersion, usernameKey } from '../query/fold-text.ts';
import { filterTerms, indexTerms } from '../query/index-terms.ts';
import { createYieldToLoop } from '../yield-to-loop.ts';
import { copyIn } from './copy-in.ts';
import {
  deleteWhere,
  fetchAll,
  inTransaction,
  quoteTerm,
  type Connection,
  type LeadSet,
} from './lead-set.ts';

/** The most profiles of one part, which a search reads together; more only if all parts are full. */
export const profilesInPart = 70_000;
/** Each part costs a search that finds nobody a fraction of a millisecond. */
const mostParts = 64;
/** Each is half as large as the next one. */
const smallerParts = 3;
const columns = 'key, username, followers, profile, terms';
const columnTypes = `key text collate "C" not null, username text collate "C" not null, followers bigint not null,
  profile text not null, terms tsvector not null`;

type Counted = Omit<ImportOutcome, 'removed' | 'profiles'>;

interface ImportInput {
  request: ImportRequest;
  /** The set that is searched now. */
  former: LeadSet | null;
  people: ForgottenPeople;
  partSize: number;
}

/**
 * Writes the next set of profiles and makes it the current one. Searches use the former one meanwhile. An input without a
 * row is usually a mistake, so it changes nothing. `connection` has the lock of imports. Tables of former sets, and of an
 * import that fails, are left to `dropOthers`.
 */
export const importSet = async (
  connection: Connection,
  { request, former, people, partSize }: ImportInput,
): Promise<ImportOutcome> => {
  const { mode, signal, onProgress } = request;
  const next = `leads_${randomBytes(8).toString('hex')}`;
  const staged = `${next}_staged`;
  const forgotten = await people.read();
  if (former !== null) checkList(former, forgotten);
  await connection.query(`create unlogged table ${staged} (position bigint not null, ${columnTypes})`);
  const outcome = await stageInput(connection, { request, staged, forgotten });
  const before = former?.profiles ?? 0;
  if (outcome.rows === 0) return toOutcome(outcome, { mode, profiles: before, before });

  onProgress?.({ phase: 'indexing', done: 0, total: null });
  outcome.repeated = await changeRows(connection, deleteRepeatedText(staged));
  await connection.query(`analyze ${staged}`);
  if (former !== null) outcome.updated = await countKnown(connection, staged, former.name);
  outcome.added = outcome.rows - outcome.forgotten - outcome.repeated - outcome.updated;

  let rows = `select ${columns} from ${staged}`;
  const kept = mode === 'upsert' ? former : null;
  if (kept !== null) {
    const others = `from ${kept.name} as former where not exists (select from ${staged} as staged where staged.key = former.key)`;
    if (kept.folding === foldingVersion) rows += ` union all select ${columns} ${others}`;
    else await stageAgain(connection, { others, staged });
  }
  signal.throwIfAborted();
  const floors = await createParts(connection, { next, rows, partSize });
  const profiles = await changeRows(connection, `insert into ${next} (${columns}) ${rows}`);
  await connection.query(`drop table ${staged}`);
  for (const part of floors.keys()) {
    signal.throwIfAborted();
    const done = Math.round((profiles * part) / floors.length);
    onProgress?.({ phase: 'indexing', done, total: profiles });
    await indexPart(connection, `${next}_${part + 1}`);
  }
  const facets = await countFacets(connection, next);
  signal.throwIfAborted();
  const since = kept === null || kept.swept === forgotten.revision ? forgotten.revision : null;
  const written = { name: next, floors, profiles, facets, since };
  return toOutcome(outcome, { mode, profiles: await publish(connection, written, people), before });
};

/** The last row of a person has the greatest position. */
const copyText = (staged: string): string => `copy ${staged} (position, ${columns}) from stdin`;

/** A join of all rows with each other would take quadratic time for a person of many rows. */
const deleteRepeatedText = (staged: string): string =>
  `delete from ${staged} as one
    using (select key, max(position) as last from ${staged} group by key having count(*) > 1) as repeated
    where repeated.key = one.key and one.position < repeated.last`;

/** Writes a row for COPY, whose text gives backslashes, tabs and line ends a meaning. */
const stagedRow = (position: number, lead: Lead): string => {
  const terms = Array.from(indexTerms(lead), quoteTerm).join(' ');
  const values = [position, usernameKey(lead.username), lead.username, lead.followers, packLead(lead), terms];
  return `${toTabLine(values.map(String))}\n`;
};

const stageInput = async (
  connection: Connection,
  { request, staged, forgotten }: { request: ImportRequest; staged: string; forgotten: ForgottenSnapshot },
): Promise<Counted> => {
  const { input, signal, onProgress } = request;
  const outcome: Counted = { rows: 0, added: 0, updated: 0, repeated: 0, forgotten: 0 };
  const ended = new AbortController();
  const yieldToLoop = createYieldToLoop(signal);

  async function* chunks(): AsyncGenerator<string> {
    for await (const leads of input.read({ signal: AbortSignal.any([signal, ended.signal]) })) {
      let chunk = '';
      for (const lead of leads) {
        outcome.rows += 1;
        if (forgotten.includes(lead.username)) outcome.forgotten += 1;
        else chunk += stagedRow(outcome.rows, lead);
      }
      yield chunk;
      if (await yieldToLoop()) onProgress?.({ phase: 'reading', done: outcome.rows, total: null });
    }
  }
  try {
    await copyIn(connection, copyText(staged), chunks());
    return outcome;
  } finally {
    // A server that is gone ends the reading.
    ended.abort();
  }
};

const stageAgain = (
  connection: Connection,
  { others, staged }: { others: string; staged: string },
): Promise<void> =>
  inTransaction(connection, async () => {
    await connection.query(`declare others cursor for select profile ${others}`);
    for await (const rows of fetchAll<{ profile: string }>(connection, 'others')) {
      async function* chunks(): AsyncGenerator<string> {
        for (const { profile } of rows) yield stagedRow(0, unpackLead(profile));
      }
      await copyIn(connection, copyText(staged), chunks());
    }
  });

const changeRows = async (connection: Connection, text: string): Promise<number> =>
  (await connection.query(text)).rowCount ?? 0;

const countKnown = async (connection: Connection, staged: string, former: string): Promise<number> => {
  const { rows } = await connection.query<{ known: bigint }>(
    `select count(*) as known from ${staged} join ${former} using (key)`,
  );
  return Number(rows[0]?.known);
};

/**
 * Returns the ranks of profiles at which parts begin, but the first. The first parts are smaller: many searches end
 * there.
 */
const partEnds = (profiles: number, partSize: number): number[] => {
  const ends: number[] = [];
  const most = Math.max(partSize, Math.ceil(profiles / (mostParts - smallerParts)));
  let size = most / 2 ** smallerParts;
  for (let end = size; end < profiles; end += size) {
    ends.push(Math.ceil(end) + 1);
    size = Math.min(size * 2, most);
  }
  return ends;
};

/** Creates the tables of the next set for `rows`. Returns the fewest followers of each part, the most followers first. */
const createParts = async (
  connection: Connection,
  { next, rows, partSize }: { next: string; rows: string; partSize: number },
): Promise<string[]> => {
  const { rows: counted } = await connection.query<{ profiles: bigint }>(
    `select count(*) as profiles from (${rows}) as one`,
  );
  // Equally many followers are in one part.
  const { rows: parts } = await connection.query<{ floor: string }>(
    `select distinct min(followers) as least, cast(min(followers) as text) as floor
      from (select followers, width_bucket(row_number() over (order by followers desc), cast($1 as bigint[])) as part
        from (${rows}) as one) as ranked
      group by part order by least desc`,
    [partEnds(Number(counted[0]?.profiles), partSize)],
  );
  const floors = [...parts.slice(0, -1).map(({ floor }) => floor), '0'];
  await connection.query(`create table ${next} (${columnTypes}) partition by range (followers)`);
  for (const [part, floor] of floors.entries())
    await connection.query(
      `create table ${next}_${part + 1} partition of ${next} for values from (${floor}) to (${floors[part - 1] ?? 'maxvalue'})`,
    );
  return floors;
};

const indexPart = async (connection: Connection, part: string): Promise<void> => {
  await connection.query(`create index on ${part} using gin (terms) with (fastupdate = off)`);
  await connection.query(`create index on ${part} ((-followers), username)`);
  await connection.query(`create index on ${part} (key)`);
};

const countFacets = async (connection: Connection, name: string): Promise<LeadFacets> => {
  // Terms are in the order of their bytes, in which filters come last.
  const { rows } = await connection.query<{ term: string; people: bigint }>(
    `select term, count(*) as people
      from (select unnest((tsvector_to_array(terms))[greatest(length(terms) - 2, 1):]) as term from ${name}) as last
      group by term`,
  );
  const count = (filter: 'country' | 'category'): Map<string, number> => {
    const { from, to, valueOf } = filterTerms(filter);
    const found = rows.filter(({ term }) => term >= from && term < to);
    return new Map(found.map(({ term, people }) => [valueOf(term), Number(people)]));
  };
  return toFacets({ country: count('country'), category: count('category') });
};

interface Written extends Pick<LeadSet, 'name' | 'profiles' | 'facets'> {
  floors: readonly string[];
  /** The revision of the list that all profiles were compared with; null: some were compared with another one. */
  since: number | null;
}

/**
 * Makes the written set the current one, in one transaction with the deletion of everybody who was forgotten meanwhile.
 * Nobody can be forgotten during that, so most people are deleted in a transaction before. Returns the number of profiles.
 */
const publish = async (
  connection: Connection,
  { name, floors, facets, since, ...written }: Written,
  people: ForgottenPeople,
): Promise<number> => {
  let { profiles } = written;
  let compared = since;
  const sweep = async (): Promise<ForgottenSnapshot> => {
    const forgotten = await people.read();
    if (forgotten.revision !== compared) profiles -= await deleteWhere(connection, name, forgotten.includes);
    compared = forgotten.revision;
    return forgotten;
  };
  await inTransaction(connection, sweep);
  await inTransaction(connection, async () => {
    await connection.query('select revision from forgotten_revision for update');
    const { ids, revision } = await sweep();
    await connection.query(
      `insert into lead_set (id, name, floors, generation, profiles, facets, folding, list, swept, updated_at)
        values (1, $1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (id) do update set
          name = $1, floors = $2, generation = $3, profiles = $4, facets = $5, folding = $6, list = $7, swept = $8,
          updated_at = $9`,
      [
        name,
        floors,
        randomUUID(),
        profiles,
        JSON.stringify(facets),
        foldingVersion,
        ids[0],
        revision,
        Date.now(),
      ],
    );
  });
  return profiles;
};
