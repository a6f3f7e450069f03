import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { readConfig } from '../../src/config/config.ts';
import type { Lead, Leads, LeadSource } from '../../src/leads/lead-source.ts';
import { openForgottenPeople, type ForgottenPeople } from '../../src/leads/forgotten-people.ts';
import { openLeads } from '../../src/leads/open-leads.ts';
import { openSqliteIndex } from '../../src/leads/sqlite/open-sqlite-index.ts';
import { silentLog } from '../../src/kit/log.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { StoreError } from '../../src/store/store-error.ts';
import type { Store } from '../../src/store/store.ts';
import { layStore } from '../data-template.ts';
import { buildLead } from './build-lead.ts';
import { leadInputOf } from './lead-input-of.ts';
import { startStubService, type StubService } from './upstream/stub-service.ts';

let dataDir: string;
let storeFolder: string;
let store: Store;
let people: ForgottenPeople;
let service: StubService;
let leads: Leads | null;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'causeway-leads-'));
  storeFolder = await mkdtemp(join(tmpdir(), 'causeway-store-'));
  store = await openSqliteStore({ file: layStore(join(storeFolder, 'store.db')), inThisThread: true });
  people = await openForgottenPeople(store);
  service = await startStubService({ kind: 'json', value: [buildLead({ username: 'from_http' })] });
  leads = null;
});

afterEach(async () => {
  await leads?.close();
  await service.close();
  await store.close();
  for (const folder of [dataDir, storeFolder]) await rm(folder, { recursive: true, force: true });
});

const open = async (
  environment: Record<string, string> = {},
  { inStore = people, erase = sweep }: { inStore?: ForgottenPeople; erase?: typeof sweep } = {},
): Promise<Leads> => {
  const usesHttp = environment['LEADS_SOURCES']?.includes('http') === true;
  const config = readConfig(
    { DATA_DIR: dataDir, SYNTHETIC_PROFILES: '100', ...environment },
    usesHttp ? stringify({ leads: { http: { url: service.origin, parameters: { q: '{query}' } } } }) : null,
  );
  leads = await openLeads(config, { redis: null, log: silentLog, people: inStore, sweep: erase });
  return leads;
};

const search = (source: LeadSource): Promise<Lead[]> =>
  source.search({ limit: 20 }, { signal: new AbortController().signal });
const names = async (source: LeadSource): Promise<string[]> =>
  (await search(source)).map(({ username }) => username);

const openKeeper = () => openSqliteIndex({ folder: join(dataDir, 'leads'), people });
const sweep = async (): Promise<void> => (await openKeeper()).sweep();

const importProfiles = async (...usernames: string[]): Promise<void> => {
  const input = leadInputOf(usernames.map((username) => buildLead({ username })));
  const keeper = await openKeeper();
  await keeper.importLeads({ mode: 'upsert', input, signal: new AbortController().signal });
};

describe('the leads of a gateway', () => {
  it('with nothing configured are fictional profiles, which are not served beside another source', async () => {
    const alone = await open();
    expect(await search(alone)).toHaveLength(20);
    expect(alone.status()).toMatchObject({ ready: true, synthetic: true, profiles: 100 });
    await alone.close();
    const source = await open({ LEADS_SOURCES: 'embedded,http' });
    expect(await names(source)).toEqual(['from_http']);
    expect(source.status()).toMatchObject({ ready: true, synthetic: false, profiles: null });
  });

  it('come from the first source as soon as it has profiles, although another one’s pages are kept', async () => {
    const source = await open({ LEADS_SOURCES: 'embedded,http' });
    expect(await names(source)).toEqual(['from_http']);
    await importProfiles('imported');
    await vi.waitUntil(() => source.status().profiles === 1, { timeout: 60_000 });
    expect(await names(source)).toEqual(['imported']);
  });

  it('are asked of an upstream once while its page is kept, and each time where none is', async () => {
    for (const [seconds, asked] of [
      ['60', 1],
      ['0', 3],
    ] as const) {
      const source = await open({ LEADS_SOURCES: 'http', LEADS_CACHE_SECONDS: seconds });
      await search(source);
      await search(source);
      expect(service.requests).toHaveLength(asked);
      await source.close();
    }
  });

  it('have nobody in them who is on the list of the store, imported profiles and pages that are kept included', async () => {
    service.answer({
      kind: 'json',
      value: ['anna', 'Bert.B', 'carl'].map((username) => buildLead({ username })),
    });
    await importProfiles('anna', 'Bert.B', 'carl');
    for (const sources of ['embedded', 'http', 'embedded,http'])
      for (const seconds of ['60', '0']) {
        const settings = { LEADS_SOURCES: sources, LEADS_CACHE_SECONDS: seconds };
        // A sweep would erase the people who come back below.
        const source = await open(settings, { erase: async () => undefined });
        await vi.waitUntil(() => source.status().ready, { timeout: 60_000 });
        expect(await names(source)).toEqual(['Bert.B', 'anna', 'carl']);
        await people.add(['bert.b', 'Carl', 'nobody']);
        expect(await names(source)).toEqual(['anna']);
        const { signal } = new AbortController();
        expect(await source.findForgotten(['BERT.B', 'anna'], { signal })).toEqual(new Set(['BERT.B']));
        await people.add(['anna']);
        expect(await names(source)).toEqual([]);
        await people.remove(['anna', 'bert.b', 'carl']);
        expect(await names(source)).toEqual(['Bert.B', 'anna', 'carl']);
        await source.close();
      }
  });

  it('are given out to nobody while the list of the store cannot be read', async () => {
    await importProfiles('anna');
    const { signal } = new AbortController();
    const find = async (): Promise<never> => {
      throw new StoreError('unavailable', 'the database does not answer');
    };
    for (const sources of ['embedded', 'http', 'embedded,http']) {
      const source = await open({ LEADS_SOURCES: sources }, { inStore: { ...people, find } });
      await vi.waitUntil(() => source.status().ready, { timeout: 60_000 });
      await expect(search(source)).rejects.toMatchObject({ code: 'upstream_error', status: 502 });
      await expect(source.findForgotten(['anna'], { signal })).rejects.toMatchObject({ status: 502 });
      await source.close();
    }
  });

  it('are not those of another source any longer when the first one answers again', async () => {
    await importProfiles('imported');
    const source = await open({ LEADS_SOURCES: 'http,embedded' });
    service.answer({ kind: 'json', status: 500, value: {} });
    await expect.poll(() => names(source).catch(() => null)).toEqual(['imported']);
    expect(await names(source)).toEqual(['imported']);
    service.answer({ kind: 'json', value: [buildLead({ username: 'from_http' })] });
    expect(await names(source)).toEqual(['from_http']);
  });

  it('of a service of the operator’s own are also asked by free searches', async () => {
    const free = { signal: new AbortController().signal, isFree: true };
    const paid = await open({ LEADS_SOURCES: 'http' });
    await expect(paid.search({ limit: 5 }, free)).rejects.toMatchObject({ status: 502 });
    await paid.close();
    const place = (name: string): string => `{${name}}`;
    const body = ['query', 'country', 'category', 'gender', 'min_followers', 'max_followers', 'limit'].map(
      place,
    );
    leads = await openLeads(
      readConfig(
        { DATA_DIR: dataDir, LEADS_SOURCES: 'http' },
        stringify({ leads: { http: { url: service.origin, body, counts: 'free' } } }),
      ),
      { redis: null, log: silentLog, people, sweep },
    );
    expect(await leads.search({ limit: 5 }, free)).toHaveLength(1);
    expect(leads.status()).toMatchObject({ profiles: null, countsFree: true });
  });

  it('that are kept are given out while their source is left alone, and say nothing of whether it works', async () => {
    const source = await open({ LEADS_SOURCES: 'embedded,http' });
    const find = (query: string) =>
      source.search({ query, limit: 20 }, { signal: new AbortController().signal });
    expect(await find('popular')).toHaveLength(1);
    service.answer({ kind: 'json', status: 500, value: {} });
    for (let time = 0; time < 9; time += 1) {
      await expect(find(`cold ${time}`)).rejects.toMatchObject({ status: 502 });
      expect(await find('popular')).toHaveLength(1);
    }
    expect(service.requests).toHaveLength(6);
  });

  it('without a way to find any are refused, and not ready', async () => {
    const source = await open({ LEADS_SOURCES: 'embedded,http' });
    service.answer({ kind: 'json', status: 500, value: {} });
    await expect(search(source)).rejects.toMatchObject({ code: 'upstream_error', status: 502 });
  });
});
