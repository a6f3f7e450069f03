import { randomBytes, randomUUID } from 'node:crypto';
import { toFacets } from '../facets.ts';
import type { ForgottenPeople, ForgottenSnapshot } from '../forgotten-people.ts';
import type { ImportOutcome, ImportRequest } from '../lead-keeper.ts';
import type { Lead, LeadFacets } from '../lead-source.ts';
import { packLead, unpackLead } from '../pack-lead.ts';
import { foldingVersion } from '../query/fold-text.ts';
import { filterTerms, indexTerms } from '../query/index-terms.ts';
import { usernameKey } from '../query/username-key.ts';
import { createYieldToLoop } from '../yield-to-loop.ts';
import { copyIn } from './copy-in.ts';
import { deleteWhere, inTransaction, quoteTerm, scan, type Connection, type LeadSet } from './lead-set.ts';

/** A search reads at most so many profiles together, but where there are more than all parts hold. */
export const profilesInPart = 70_000;
/** Each part costs a search that finds nobody a fraction of a millisecond. */
const mostParts = 64;
/** Each is half as large as the next one. */
const smallerParts = 3;
const columns = 'key, username, followers, profile, terms';
const columnTypes = `key text collate "C" not null, username text collate "C" not null, followers bigint not null,
  profile text not null, terms tsvector not null`;

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
  const kept = mode === 'upsert' ? former : null;
  const next = `leads_${randomBytes(8).toString('hex')}`;
  const staged = `${next}_staged`;
  const forgotten = await people.read();

  await connection.query(`create unlogged table ${staged} (place bigint not null, ${columnTypes})`);
  // Words that another version of Unicode has folded are folded again.
  const isFolded = kept === null || kept.folding === foldingVersion;
  if (!isFolded) await stageAgain(connection, kept.name, staged);
  const outcome = await stageInput(connection, { request, staged, forgotten });
  if (outcome.rows === 0) return { ...outcome, profiles: former?.profiles ?? 0 };

  onProgress?.({ phase: 'indexing', done: 0, total: null });
  outcome.repeated = await dropRepeated(connection, staged);
  if (former !== null) outcome.updated = await countKnown(connection, staged, former.name);
  outcome.added = outcome.rows - outcome.forgotten - outcome.repeated - outcome.updated;
  const merged = isFolded ? kept : null;
  signal.throwIfAborted();
  const floors = await createParts(connection, { next, staged, merged }, partSize);
  const profiles = await fillParts(connection, { next, staged, merged });
  for (const place of floors.keys()) {
    signal.throwIfAborted();
    const done = Math.round((profiles * place) / floors.length);
    onProgress?.({ phase: 'indexing', done, total: profiles });
    await indexPart(connection, `${next}_${place + 1}`);
  }
  const facets = await countFacets(connection, next);
  signal.throwIfAborted();
  const since = kept === null || kept.swept === forgotten.revision ? forgotten.revision : null;
  const written = { name: next, floors, profiles, facets, since };
  return { ...outcome, profiles: await publish(connection, written, people) };
};

/** The last row of a person has the greatest place. Kept profiles are staged with the place 0. */
const copyText = (staged: string): string => `copy ${staged} (place, ${columns}) from stdin`;

/** Rows that are sent together. */
const rowsAtOnce = 100;

/** Writes a row for COPY, whose text gives backslashes, tabs and line ends a meaning. */
const stagedRow = (place: number, lead: Lead): string => {
  const terms = Array.from(indexTerms(lead), quoteTerm).join(' ');
  const values = [place, usernameKey(lead.username), lead.username, lead.followers, packLead(lead), terms];
  return `${values.map((value) => String(value).replace(/[\\\t\n\r]/g, (found) => escapes[found] ?? found)).join('\t')}\n`;
};
const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

const stageInput = async (
  connection: Connection,
  {
    request: { input, signal, onProgress },
    staged,
    forgotten,
  }: { request: ImportRequest; staged: string; forgotten: ForgottenSnapshot },
): Promise<ImportOutcome> => {
  const outcome: ImportOutcome = { rows: 0, added: 0, updated: 0, repeated: 0, forgotten: 0, profiles: 0 };
  const ended = new AbortController();
  const yieldToLoop = createYieldToLoop(signal);

  async function* chunks(): AsyncGenerator<string> {
    for await (const leads of input.read({ signal: AbortSignal.any([signal, ended.signal]) })) {
      for (let from = 0; from < leads.length; from += rowsAtOnce) {
        let chunk = '';
        for (const lead of leads.slice(from, from + rowsAtOnce)) {
          outcome.rows += 1;
          if (forgotten.includes(lead.username)) outcome.forgotten += 1;
          else chunk += stagedRow(outcome.rows, lead);
        }
        if (chunk !== '') yield chunk;
        if (await yieldToLoop()) onProgress?.({ phase: 'reading', done: outcome.rows, total: null });
      }
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

const stageAgain = (connection: Connection, kept: string, staged: string): Promise<void> =>
  inTransaction(connection, async () => {
    for await (const rows of scan<{ profile: string }>(connection, `select profile from ${kept}`)) {
      async function* chunks(): AsyncGenerator<string> {
        for (const { profile } of rows) yield stagedRow(0, unpackLead(profile));
      }
      await copyIn(connection, copyText(staged), chunks());
    }
  });

const countOf = async (connection: Connection, text: string): Promise<number> => {
  const { rows } = await connection.query<{ count: bigint }>(text);
  return Number(rows[0]?.count);
};

/** Keeps the last row of each person. Returns how many rows of the input it deletes. */
const dropRepeated = async (connection: Connection, staged: string): Promise<number> => {
  const repeated = await countOf(
    connection,
    `with gone as (
      delete from ${staged} as staged
        using (select key, max(place) as last from ${staged} group by key having count(*) > 1) as several
        where staged.key = several.key and staged.place < several.last returning place
    ) select count(*) from gone where place > 0`,
  );
  await connection.query(`analyze ${staged}`);
  return repeated;
};

const countKnown = (connection: Connection, staged: string, former: string): Promise<number> =>
  countOf(connection, `select count(*) from ${staged} join ${former} using (key) where place > 0`);

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

interface Rows {
  next: string;
  staged: string;
  /** The set whose profiles are kept, unless a staged row replaces them. */
  merged: LeadSet | null;
}

/** Creates the tables of the next set. Returns the fewest followers of each part, the most followers first. */
const createParts = async (
  connection: Connection,
  { next, staged, merged }: Rows,
  partSize: number,
): Promise<string[]> => {
  const all = [staged, ...(merged === null ? [] : [merged.name])]
    .map((table) => `select followers from ${table}`)
    .join(' union all ');
  const profiles = await countOf(connection, `select count(*) from (${all}) as profiles`);
  // Equally many followers are in one part.
  const { rows } = await connection.query<{ floor: string }>(
    `select distinct min(followers) as least, cast(min(followers) as text) as floor
      from (select followers, width_bucket(row_number() over (order by followers desc), cast($1 as bigint[])) as part
        from (${all}) as profiles) as parts
      group by part order by least desc`,
    [partEnds(profiles, partSize)],
  );
  const floors = [...rows.slice(0, -1).map(({ floor }) => floor), '0'];
  await connection.query(`create table ${next} (${columnTypes}) partition by range (followers)`);
  for (const [place, floor] of floors.entries())
    await connection.query(
      `create table ${next}_${place + 1} partition of ${next} for values from (${floor}) to (${floors[place - 1] ?? 'maxvalue'})`,
    );
  return floors;
};

/** Returns the number of profiles. */
const fillParts = async (connection: Connection, { next, staged, merged }: Rows): Promise<number> => {
  const into = `insert into ${next} (${columns}) select ${columns} from`;
  const { rowCount } = await connection.query(`${into} ${staged}`);
  let profiles = rowCount ?? 0;
  if (merged !== null) {
    const others = `not exists (select from ${staged} as staged where staged.key = former.key)`;
    const added = await connection.query(`${into} ${merged.name} as former where ${others}`);
    profiles += added.rowCount ?? 0;
  }
  await connection.query(`drop table ${staged}`);
  return profiles;
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
