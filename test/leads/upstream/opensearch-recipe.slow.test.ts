import * as fc from 'fast-check';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/run-command-line.ts';
import { silentLog } from '../../../src/kit/log.ts';
import type { Lead, LeadQuery, LeadSource } from '../../../src/leads/lead-source.ts';
import { checkLead } from '../../../src/leads/query/check-lead.ts';
import { queryProblem } from '../../../src/leads/query/search-terms.ts';
import { usernameKey } from '../../../src/leads/query/fold-text.ts';
import { createHttpLeads } from '../../../src/leads/upstream/http-leads.ts';
import { temporaryFolder } from '../../cli/run-cli.ts';
import { arbitraryLead, arbitraryQuery } from '../arbitrary-leads.ts';
import { buildLead } from '../build-lead.ts';
import { createReferenceSearch } from '../reference-search.ts';
import { readHttpSettings } from './read-http-settings.ts';
import { readHttpRecipe, readRecipe } from './read-recipe.ts';
import { createStubCluster } from './stub-cluster.ts';
import { startStubService, type StubService } from './stub-service.ts';

const recipe = 'opensearch.yaml';

let cluster: StubService;
let leads: LeadSource;
let folder: string;

beforeEach(async () => {
  cluster = await startStubService({ kind: 'silence' });
  cluster.answer(createStubCluster());
  leads = openLeads();
  folder = await temporaryFolder();
  await mkdir(join(folder, 'leads'));
  await send('PUT', '/_scripts/causeway', {
    script: { lang: 'mustache', source: readRecipe('causeway.mustache') },
  });
});

afterEach(async () => {
  await leads.close();
  await cluster.close();
});

const openLeads = (): LeadSource =>
  createHttpLeads(
    readHttpSettings(readHttpRecipe(recipe, cluster.origin), { CLUSTER_AUTHORIZATION: 'ApiKey secret' }),
    { log: silentLog },
  );

const send = async (
  method: string,
  path: string,
  body: unknown,
  type = 'application/json',
): Promise<Record<string, unknown>> => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(`${cluster.origin}${path}`, {
    method,
    headers: { 'content-type': type },
    body: text,
  });
  const answer: Record<string, unknown> = JSON.parse(await response.text());
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer;
};

const run = async (...args: string[]) => {
  const printed = { stdout: '', stderr: '' };
  const exitCode = await runCommandLine({
    args: ['leads', ...args],
    environment: { DATA_DIR: folder, CAUSEWAY_CONFIG: join(folder, 'causeway.yaml') },
    write: (text) => (printed.stdout += text),
    writeError: (text) => (printed.stderr += text),
  });
  return { exitCode, ...printed };
};

/** Loads rows into a new index as the recipe does, in parts of some lines, and makes it the one that is searched. */
const load = async (rows: readonly object[], index = 'people-1'): Promise<void> => {
  await send('PUT', `/${index}`, readRecipe('people.json'));
  const file = join(folder, 'rows.jsonl');
  await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const { stdout } = await run('convert', file, '--format', 'bulk');
  const lines = stdout.split(/(?<=\n)/);
  for (let at = 0; at < lines.length; at += 6) {
    const part = lines.slice(at, at + 6).join('');
    const { errors } = await send('POST', `/${index}/_bulk`, part, 'application/x-ndjson');
    expect(errors).toBe(false);
  }
  await send('POST', `/${index}/_refresh`, {});
  await send('POST', '/_aliases', { actions: [{ add: { index, alias: 'people' } }] });
};

const search = (query: LeadQuery): Promise<Lead[]> =>
  leads.search(query, { signal: new AbortController().signal });
const namesOf = async (query: Partial<LeadQuery> = {}): Promise<string[]> =>
  (await search({ limit: 20, ...query })).map(({ username }) => username);

/** The profiles that an import takes from rows: valid ones, the last of each person. */
const profilesOf = (rows: readonly Lead[]): Lead[] => {
  const profiles = new Map<string, Lead>();
  for (const row of rows) {
    const checked = checkLead(JSON.parse(JSON.stringify(row)));
    if ('lead' in checked) profiles.set(usernameKey(checked.lead.username), checked.lead);
  }
  return [...profiles.values()];
};

/** Most rows of `arbitraryLead` are no profiles: most of these are. */
const arbitraryRow = fc.oneof(
  { weight: 1, arbitrary: arbitraryLead },
  {
    weight: 9,
    arbitrary: arbitraryLead.map(({ country, ...lead }) => ({
      ...lead,
      username: `${lead.username.replaceAll(/[^\p{L}\p{N}_.]/gu, '').slice(0, 150)}x`,
      ...(country === undefined ? {} : { country: /^[a-z]{2}$/i.test(country) ? country : 'UK' }),
    })),
  },
);

/** A search as it comes from a buyer. */
const runs = ({ query, country, after }: LeadQuery): boolean =>
  (query === undefined || (query.trim() !== '' && queryProblem(query) === null)) &&
  country !== '' &&
  (after === undefined || after.username.isWellFormed());

describe('a cluster that the recipe describes', () => {
  it('gives every answer that the reference search gives, words, filters and pages', async () => {
    const rows = fc.array(arbitraryRow, { maxLength: 30 });
    const queries = fc.array(arbitraryQuery.filter(runs), { minLength: 5, maxLength: 15 });
    await fc.assert(
      fc.asyncProperty(rows, queries, async (some, asked) => {
        await load(some);
        const reference = createReferenceSearch(profilesOf(some));
        for (const query of asked) expect(await search(query)).toEqual(reference(query));
      }),
      { numRuns: 40 },
    );
  });

  it('is read to its end page by page, also where many have as many followers', async () => {
    const many = Array.from({ length: 90 }, (_, place) =>
      buildLead({ username: `u${place}`, followers: 500, bio: 'yoga' }),
    );
    await load(many);
    const seen: Lead[] = [];
    for (;;) {
      const after = seen.at(-1);
      const page = await search({
        query: 'yoga',
        limit: 7,
        ...(after === undefined ? {} : { after, maxFollowers: after.followers }),
      });
      if (page.length === 0) break;
      seen.push(...page);
    }
    expect(seen).toEqual(createReferenceSearch(many)({ limit: 100 }));
  });

  it('is sent the words as they are compared, and its matches may be counted by anybody', async () => {
    await load([buildLead({ username: 'ann', bio: 'Café in Zürich' })]);
    expect(await namesOf({ query: 'zur CAFÉ', country: 'UK', category: 'Café', maxFollowers: 0 })).toEqual(
      [],
    );
    expect(cluster.requests.at(-1)).toMatchObject({
      headers: { authorization: 'ApiKey secret' },
      body: {
        params: {
          terms: [
            { match: 'prefix', text: 'zur' },
            { match: 'prefix', text: 'cafe' },
          ],
          country: 'GB',
          category: 'café',
          min: [],
          max: [0],
          size: 20,
        },
      },
    });
    expect(await namesOf({ query: 'zur CAFÉ' })).toEqual(['ann']);
    expect(leads.status()).toMatchObject({ profiles: null, countsFree: true });
  });

  it('tells its countries and categories, which are counted anew when a gateway starts', async () => {
    const many = Array.from({ length: 12 }, (_, place) =>
      buildLead({ username: `u${place}`, country: 'uk', ...(place < 10 ? { category: 'Café' } : {}) }),
    );
    await load([...many, buildLead({ username: 'ann', country: 'FR', category: 'Art' })]);
    expect(leads.status().facets).toBeUndefined();
    await using next = { leads: openLeads(), [Symbol.asyncDispose]: () => next.leads.close() };
    await expect
      .poll(() => next.leads.status().facets)
      .toEqual({
        countries: [{ value: 'GB', profiles: 10 }],
        categories: [{ value: 'café', profiles: 10 }],
      });
  });

  it('is replaced by another index at once', async () => {
    await load([buildLead({ username: 'old' })]);
    await load([buildLead({ username: 'new' })], 'people-2');
    expect(await namesOf()).toEqual(['new']);
  });
});

describe('somebody who is forgotten', () => {
  const people = ['ann', 'Bob', 'cy'].map((username) => buildLead({ username }));
  const configure = (settings: object): Promise<void> =>
    writeFile(
      join(folder, 'causeway.yaml'),
      JSON.stringify({ leads: { http: { ...readHttpRecipe(recipe, cluster.origin), ...settings } } }),
    );
  const authorized = { headers: { authorization: 'x' } };

  it('is deleted in the cluster, also in an index that is being loaded, and stays out of later loads', async () => {
    await load(people);
    await load(people, 'people-2');
    await configure(authorized);
    expect(await run('delete', '@BOB', 'nobody')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/The service of leads\.http has deleted them, too\.\n$/),
    });
    expect(await namesOf()).toEqual(['ann', 'cy']);
    await send('POST', '/_aliases', { actions: [{ add: { index: 'people-1', alias: 'people' } }] });
    expect(await namesOf()).toEqual(['ann', 'cy']);
    await load(people, 'people-3');
    expect(await namesOf()).toEqual(['ann', 'cy']);
  });

  it('is forgotten here while the cluster fails, which the command says until it has worked', async () => {
    await load(people);
    await configure(authorized);
    cluster.answer({ kind: 'json', status: 503, value: {} });
    const failed = await run('delete', 'bob', '--json');
    expect(failed.exitCode).toBe(1);
    expect(JSON.parse(failed.stdout)).toEqual({
      error: {
        code: 'leads_failed',
        message:
          'These people are forgotten, and no search finds them. But the service of leads.http may still have their data: ' +
          'it answered with status 503. Run the same again.',
      },
    });
    expect(JSON.parse((await run('stats', '--json')).stdout)).toMatchObject({ stats: { forgotten: 1 } });
    cluster.answer({ kind: 'json', value: { deleted: 1 } });
    expect(await run('delete', 'bob')).toMatchObject({ exitCode: 0 });
    expect(cluster.requests.at(-1)?.body).toEqual({ query: { ids: { values: ['bob'] } } });
  });

  it('is deleted in the cluster while other settings are wrong', async () => {
    await load(people);
    const http = { ...readHttpRecipe(recipe, cluster.origin), ...authorized };
    const file = { providers: { wrong: {} }, leads: { http } };
    await writeFile(join(folder, 'causeway.yaml'), JSON.stringify(file));
    expect(await run('delete', 'bob')).toMatchObject({ exitCode: 0 });
    expect(await namesOf()).toEqual(['ann', 'cy']);
  });

  it('is forgotten here while the settings of the cluster are wrong', async () => {
    await configure({ ...authorized, results: 'hits' });
    const { exitCode, stderr } = await run('delete', 'bob');
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /may still have their data: causeway\.yaml: leads\.http\.results: must be a JSON pointer/,
    );
    expect(JSON.parse((await run('stats', '--json')).stdout)).toMatchObject({ stats: { forgotten: 1 } });
  });
});
