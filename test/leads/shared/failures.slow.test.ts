import { execFile } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, vi } from 'vitest';
import type { LeadKeeper } from '../../../src/leads/lead-keeper.ts';
import { parseSharedManifest, type SharedManifest } from '../../../src/leads/shared/shared-manifest.ts';
import { createRecordedLog } from '../../cache/recorded-log.ts';
import { leadInputOf } from '../embedded/lead-input-of.ts';
import { importNames, openGateway, openKeeper, people, signal, temporaryFolder } from './fleet.ts';
import { testPlaces, type TestPlace } from './open-test-place.ts';

const [{ openTestPlace }] = testPlaces;
const wait = { timeout: 60_000, interval: 20 };

const openAll = async () => {
  const test = await openTestPlace();
  const folder = await temporaryFolder();
  const keeper = await openKeeper(test.open(), join(folder, 'keeper'));
  return { test, folder, keeper };
};

const manifestOf = async (test: TestPlace): Promise<SharedManifest> =>
  parseSharedManifest((await test.read('current.json')).toString(), 'the test');
const exported = async (keeper: LeadKeeper): Promise<string[]> =>
  (await Array.fromAsync(keeper.exportLeads({ signal }))).map(({ username }) => username);

it('of two importers at once one wins, and the other one changes nothing until it is repeated', async () => {
  const { test, folder, keeper } = await openAll();
  await importNames(keeper, 'ann');
  const other = await openKeeper(test.open(), join(folder, 'other'));
  const slow = {
    input: leadInputOf(people('cy', 'dan'), {
      beforeBatch: () => importNames(other, 'bob'),
    }),
    mode: 'upsert' as const,
    signal,
  };
  await expect(keeper.importLeads(slow)).rejects.toMatchObject({
    problem: 'busy',
    message: expect.stringMatching(
      /^Another machine has changed the profiles in .*Run the same command again/,
    ),
  });
  expect(await exported(other)).toEqual(['ann', 'bob']);
  expect(await keeper.stats()).toMatchObject({ profiles: 2 });
  const again = { ...slow, input: leadInputOf(people('cy', 'dan')) };
  expect(await keeper.importLeads(again)).toMatchObject({ rows: 2, added: 2, profiles: 4 });
  expect(await exported(other)).toEqual(['ann', 'bob', 'cy', 'dan']);
});

it('one machine makes one change at a time', async () => {
  const { test, folder, keeper } = await openAll();
  const second = await openKeeper(test.open(), join(folder, 'keeper'));
  const input = leadInputOf(people('ann'), {
    beforeBatch: () => expect(second.forget(['ann'], { signal })).rejects.toMatchObject({ problem: 'busy' }),
  });
  expect(await keeper.importLeads({ input, mode: 'upsert', signal })).toMatchObject({ added: 1 });
});

it('a command that is killed at any step leaves the former or the new profiles, and can be run again', async () => {
  const { test, folder, keeper } = await openAll();
  await importNames(keeper, 'ann', 'bob', 'cy');
  const script = new URL('./killed-publication.ts', import.meta.url).pathname;
  const run = async (change: string, step: string): Promise<string> => {
    const args = [script, test.open().address, join(folder, 'killed'), change, step];
    const outcome = await promisify(execFile)(process.execPath, args).catch((error: unknown) => error);
    return String(Object(outcome).stdout);
  };
  for (const step of ['put 1', 'put 2', 'replace 1']) {
    expect(await run('forget', step)).toBe('');
    expect(await exported(keeper)).toEqual(['ann', 'bob', 'cy']);
  }
  // The people are hidden, but not all is erased.
  for (const step of ['put 3', 'replace 2', 'remove 1']) {
    expect(await run('forget', step)).toBe('');
    expect(await exported(keeper)).toEqual(['ann', 'cy']);
  }
  expect(await run('forget', 'never')).toBe('done');
  const { base, former } = await manifestOf(test);
  const objects = await test.objects();
  expect(objects).toContain(base?.name);
  for (const name of former) expect(objects).not.toContain(name);
  for (const name of objects)
    if (name === base?.name) expect((await test.read(name)).includes('"bob"')).toBe(false);

  for (const step of ['put 1', 'replace 1']) {
    expect(await run('import', step)).toBe('');
    expect(await exported(keeper)).toEqual(['ann', 'cy']);
  }
  expect(await run('import', 'remove 1')).toBe('');
  expect(await exported(keeper)).toEqual(['ann', 'cy', 'dan']);
  expect(await run('import', 'never')).toBe('done');
  expect(await exported(keeper)).toEqual(['ann', 'cy', 'dan']);
});

it('a gateway does not use an object that is not as it was written, and follows when it is', async () => {
  const { test, folder, keeper } = await openAll();
  const { log, lines } = createRecordedLog();
  await importNames(keeper, 'ann', 'bob', 'cy');
  const gateway = await openGateway(test.open(), { folder: join(folder, 'gateway'), log });
  await vi.waitFor(async () => expect(await gateway.names()).toEqual(['ann', 'bob', 'cy']), wait);
  await gateway.source.close();
  await importNames(keeper, 'dan');
  const { delta } = await manifestOf(test);
  const good = await test.read(delta?.name ?? '');
  await test.overwrite(delta?.name ?? '', Buffer.from(good).fill(7, 5_000, 5_001));
  const again = await openGateway(test.open(), { folder: join(folder, 'gateway'), log });
  await vi.waitFor(
    () => expect(JSON.stringify(lines)).toMatch(/delta-\w+\.db in .* is not as it was written/),
    wait,
  );
  await vi.waitFor(async () => expect(await again.names()).toEqual(['ann', 'bob', 'cy']), wait);
  await test.overwrite(delta?.name ?? '', good);
  await vi.waitFor(async () => expect(await again.names()).toEqual(['ann', 'dan', 'bob', 'cy']), wait);
  // What is lost on its own disk is fetched again.
  const base = (await readdir(join(folder, 'gateway'))).find((name) => name.startsWith('base-')) ?? '';
  await rm(join(folder, 'gateway', base));
  await vi.waitFor(async () => expect(await readdir(join(folder, 'gateway'))).toContain(base), wait);
});

it('a gateway whose copy of the list was changed gives out nothing until it has the list again', async () => {
  const { test, folder, keeper } = await openAll();
  await importNames(keeper, 'ann', 'bob');
  await keeper.forget(['bob'], { signal });
  const at = join(folder, 'gateway');
  const gateway = await openGateway(test.open(), { folder: at });
  await vi.waitFor(async () => expect(await gateway.names()).toEqual(['ann']), wait);
  await gateway.source.close();
  const list = (await readdir(at)).find((name) => name.startsWith('forgotten-')) ?? '';
  const bytes = await readFile(join(at, list));
  await writeFile(join(at, list), Buffer.from(bytes).fill(7, bytes.length - 10));
  await test.takeAway();
  const restarted = await openGateway(test.open(), { folder: at });
  await expect(restarted.names()).rejects.toMatchObject({ code: 'upstream_error' });
  await test.bringBack();
  await vi.waitFor(async () => expect(await restarted.names()).toEqual(['ann']), wait);
});

it('nobody follows a place that lost its list of forgotten people', async () => {
  const { test, folder, keeper } = await openAll();
  await importNames(keeper, 'ann', 'bob');
  await keeper.forget(['bob'], { signal });
  const { log, lines } = createRecordedLog();
  const gateway = await openGateway(test.open(), { folder: join(folder, 'gateway'), log });
  await vi.waitFor(async () => expect(await gateway.names()).toEqual(['ann']), wait);
  for (const name of await test.objects()) await rm(join(test.open().address, name));
  await expect(importNames(keeper, 'bob')).rejects.toMatchObject({
    problem: 'damaged',
    message: expect.stringMatching(
      /^current\.json is missing in .*To begin anew on purpose, remove .*keeper and run/,
    ),
  });
  const stranger = await openKeeper(test.open(), join(folder, 'stranger'));
  await importNames(stranger, 'bob');
  await expect(importNames(keeper, 'cy')).rejects.toThrow(/^Another list of forgotten people is in/);
  await vi.waitFor(
    () => expect(JSON.stringify(lines)).toMatch(/(?:Another list|current\.json is missing).* in/),
    wait,
  );
  expect(await gateway.names()).toEqual(['ann']);
});

it('a gateway that joins serves no fictional profiles before it has the real ones', async () => {
  const { test, folder, keeper } = await openAll();
  await importNames(keeper, 'ann');
  const real = test.open();
  const arrived = Promise.withResolvers<void>();
  const slow = {
    ...real,
    get: async (...get: Parameters<typeof real.get>) => {
      if (get[0].startsWith('base-')) await arrived.promise;
      return real.get(...get);
    },
  };
  const gateway = await openGateway(slow, { folder: join(folder, 'gateway'), syntheticProfiles: 100 });
  await vi.waitUntil(() => gateway.source.forgotten?.isKnown() === true, wait);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(gateway.source.status()).toMatchObject({ ready: false });
  await expect(gateway.names()).rejects.toMatchObject({ code: 'upstream_error' });
  arrived.resolve();
  await vi.waitFor(async () => expect(await gateway.names()).toEqual(['ann']), wait);
});

it('profiles of another place are not searched, and a fleet without profiles may have fictional ones', async () => {
  const { test, folder, keeper } = await openAll();
  await importNames(keeper, 'ann');
  const at = join(folder, 'gateway');
  const gateway = await openGateway(test.open(), { folder: at });
  await vi.waitFor(async () => expect(await gateway.names()).toEqual(['ann']), wait);
  await gateway.source.close();
  const empty = await openTestPlace();
  const moved = await openGateway(empty.open(), { folder: at, syntheticProfiles: 100 });
  await vi.waitFor(
    () => expect(moved.source.status()).toMatchObject({ synthetic: true, profiles: 100 }),
    wait,
  );
  expect(await moved.names()).toHaveLength(100);
  const first = await openKeeper(empty.open(), join(folder, 'first'));
  await importNames(first, 'bob');
  await vi.waitFor(async () => expect(await moved.names()).toEqual(['bob']), wait);
});
