import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkProfiles } from '../../../src/cli/doctor/check-folders.ts';
import { listOf } from '../../../src/cli/doctor/finding.ts';
import { readConfig, type Config } from '../../../src/config/config.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { openForgottenPeople } from '../../../src/leads/forgotten-people.ts';
import { createLeadTasks } from '../../../src/leads/lead-tasks.ts';
import { openLeadIndex } from '../../../src/leads/open-lead-index.ts';
import type { Lead, Leads } from '../../../src/leads/lead-source.ts';
import { openLeads } from '../../../src/leads/open-leads.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { createTestDatabase } from '../../cli/test-database.ts';
import { templateProfiles } from '../../data-template.ts';
import { hasService } from '../../outside-services.ts';
import { buildLead } from '../build-lead.ts';
import { leadInputOf } from '../lead-input-of.ts';

const { signal } = new AbortController();
let database: { url: string; drop(): Promise<void> };
let home: string;
let ends: (() => Promise<void>)[];

const configOf = (name: string, settings: Record<string, string> = {}): Config =>
  readConfig(
    {
      DATA_DIR: join(home, name),
      DATABASE_URL: database.url,
      SYNTHETIC_PROFILES: String(templateProfiles),
      ...settings,
    },
    null,
  );
/** Opens the leads of a gateway with a data folder of its own. */
const openGateway = async (name: string, log = silentLog): Promise<Leads> => {
  const config = configOf(name);
  const store: Store = await openStore(config, { log: silentLog });
  ends.push(() => store.close());
  const leads = await openLeads(config, {
    redis: null,
    log,
    people: await openForgottenPeople(store),
    sweep: () => createLeadTasks(config).sweep(),
  });
  ends.push(() => leads.close());
  return leads;
};
const withKeeper = async <T>(
  config: Config,
  work: (keeper: Awaited<ReturnType<typeof openLeadIndex>>) => Promise<T>,
): Promise<T> => {
  const keeper = await openLeadIndex(config);
  try {
    return await work(keeper);
  } finally {
    await keeper.close();
  }
};
const take = (config: Config, leads: readonly Lead[]) =>
  withKeeper(config, (keeper) => keeper.importLeads({ input: leadInputOf(leads), mode: 'replace', signal }));
const names = async (leads: Leads): Promise<string[]> =>
  (await leads.search({ query: 'real', limit: 5 }, { signal })).map(({ username }) => username);
const people = ['ann', 'bob', 'carl'].map((username) => buildLead({ username, bio: 'real' }));

describe.runIf(hasService('PostgreSQL'))('the gateways of a fleet', () => {
  beforeEach(async () => {
    const created = await createTestDatabase();
    if (created === null) throw new Error('PostgreSQL does not answer');
    database = created;
    home = await mkdtemp(join(tmpdir(), 'causeway-fleet-'));
    ends = [];
  });
  afterEach(async () => {
    for (const end of ends.toReversed()) await end();
    await database.drop();
    await rm(home, { recursive: true });
  });

  it('search what was imported on any machine, and lose who was deleted on any machine', async () => {
    await cp(join(inject('dataTemplate'), 'leads'), join(home, 'one', 'leads'), { recursive: true });
    const [one, two] = [await openGateway('one'), await openGateway('two')];
    await vi.waitUntil(() => one.status().ready, { timeout: 60_000 });
    expect(one.status()).toMatchObject({ synthetic: true, profiles: templateProfiles });
    expect(await take(configOf('three'), people)).toMatchObject({ profiles: 3 });
    for (const leads of [one, two]) {
      await vi.waitUntil(() => leads.status().profiles === 3, { timeout: 60_000 });
      expect(await names(leads)).toEqual(['ann', 'bob', 'carl']);
    }
    await withKeeper(configOf('two'), (keeper) => keeper.forget(['BOB'], { signal }));
    expect(await names(one)).toEqual(['ann', 'carl']);
    expect(await createLeadTasks(configOf('three')).stats()).toMatchObject({
      profiles: 2,
      forgotten: 1,
    });
    expect(listOf(await checkProfiles(configOf('one'), signal))).toMatchObject([
      { status: 'ok', message: '2 real profiles.' },
    ]);
  });

  it('do not search profiles of their own folder, and say how to import them', async () => {
    await take(configOf('one', { DATABASE_URL: '' }), people);
    const warn = vi.fn<(message: string) => void>();
    const leads = await openGateway('one', { ...silentLog, warn });
    expect(leads.status()).toMatchObject({ synthetic: false, profiles: 0 });
    expect(await names(leads)).toEqual([]);
    const hint = expect.stringContaining('causeway leads export | causeway leads import');
    expect(warn).toHaveBeenCalledWith(hint);
    expect(listOf(await checkProfiles(configOf('one'), signal))).toMatchObject([
      { status: 'warning', message: hint },
      { status: 'warning', message: 'No profiles were imported.' },
    ]);
    const exported = await withKeeper(configOf('one', { DATABASE_URL: '' }), (keeper) =>
      Array.fromAsync(keeper.exportLeads({ signal })),
    );
    await take(configOf('one'), exported);
    await vi.waitUntil(() => leads.status().profiles === 3, { timeout: 60_000 });
    expect(await names(leads)).toEqual(['ann', 'bob', 'carl']);
  });
});
