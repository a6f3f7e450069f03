import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { SharedPlace } from '../../../src/leads/shared/shared-place.ts';
import { createRecordedLog } from '../../cache/recorded-log.ts';
import { leadInputOf } from '../embedded/lead-input-of.ts';
import {
  importNames,
  openGateway,
  openKeeper,
  people,
  signal,
  temporaryFolder,
  type TestGateway,
} from './fleet.ts';
import { testPlaces } from './open-test-place.ts';

const busyMachineMs = 50_000;

/** Waits until every gateway finds exactly these people. */
const untilAllFind = (gateways: readonly TestGateway[], ...usernames: string[]): Promise<void> =>
  vi.waitFor(
    async () => {
      const found = await Promise.all(gateways.map(({ names }) => names()));
      expect(found).toEqual(gateways.map(() => usernames));
    },
    { timeout: busyMachineMs, interval: 20 },
  );

describe.each(testPlaces)('a fleet on $kind', ({ openTestPlace }) => {
  it('finds what any machine imports, and nobody who was forgotten on any of them', async () => {
    const test = await openTestPlace();
    const folder = await temporaryFolder();
    let profilesCome = Promise.resolve();
    const openPlace = (): SharedPlace => {
      const place = test.open();
      const get: SharedPlace['get'] = async (...asked) => {
        if (!asked[0].startsWith('forgotten-')) await profilesCome;
        return place.get(...asked);
      };
      return { ...place, get };
    };
    const gateways = await Promise.all(
      ['a', 'b', 'c'].map((name) => openGateway(openPlace(), { folder: join(folder, name) })),
    );
    await untilAllFind(gateways);
    const [one, other] = await Promise.all([
      openKeeper(test.open(), join(folder, 'one')),
      openKeeper(test.open(), join(folder, 'other')),
    ]);
    await importNames(one, 'ann', 'bob', 'cy');
    await untilAllFind(gateways, 'ann', 'bob', 'cy');
    await importNames(other, 'dan');
    await untilAllFind(gateways, 'ann', 'dan', 'bob', 'cy');
    expect((await test.objects()).map((name) => name.split('-')[0])).toEqual([
      'base',
      'current.json',
      'delta',
      'forgotten',
    ]);

    // People are gone before the profiles without them have come.
    const arrival = Promise.withResolvers<void>();
    profilesCome = arrival.promise;
    expect(await one.forget(['bob', 'dan', 'nobody'], { signal })).toEqual({ removed: 2 });
    await untilAllFind(gateways, 'ann', 'cy');
    arrival.resolve();
    for (const name of await test.objects()) expect((await test.read(name)).includes('"dan"')).toBe(false);
    const outcome = await other.importLeads({
      input: leadInputOf(people('bob', 'eve')),
      mode: 'upsert',
      signal,
    });
    expect(outcome).toMatchObject({ added: 1, forgotten: 1, profiles: 3 });
    await untilAllFind(gateways, 'ann', 'eve', 'cy');
    expect(await one.remember(['bob'])).toEqual({ restored: 1 });
    await importNames(one, 'bob');
    await untilAllFind(gateways, 'ann', 'bob', 'eve', 'cy');
    expect(await Array.fromAsync(other.exportLeads({ signal }))).toHaveLength(4);
    expect(await other.stats()).toMatchObject({ profiles: 4, forgotten: 2, synthetic: false });
    await Promise.all([one.close(), other.close()]);
  });

  it('answers from its own disks while the place is away, also after a restart', async () => {
    const test = await openTestPlace();
    const folder = await temporaryFolder();
    const keeper = await openKeeper(test.open(), join(folder, 'keeper'));
    await importNames(keeper, 'ann', 'bob', 'cy', 'dan');
    await keeper.forget(['bob'], { signal });
    const log = createRecordedLog();
    const gateway = await openGateway(test.open(), { folder: join(folder, 'gateway'), log: log.log });
    await untilAllFind([gateway], 'ann', 'cy', 'dan');

    await test.takeAway();
    await expect(keeper.forget(['cy'], { signal })).rejects.toThrow(/cannot be used .*Run the command again/);
    await vi.waitFor(
      () =>
        expect(log.lines).toContainEqual(
          expect.objectContaining({ msg: expect.stringMatching(/^the place .* cannot be read/) }),
        ),
      { timeout: busyMachineMs },
    );
    expect(await gateway.names()).toEqual(['ann', 'cy', 'dan']);
    const stranger = await openGateway(test.open(), { folder: join(folder, 'new'), syntheticProfiles: 100 });
    await expect(stranger.names()).rejects.toMatchObject({ code: 'upstream_error' });
    expect(stranger.source.status().ready).toBe(false);
    await gateway.source.close();
    const restarted = await openGateway(test.open(), { folder: join(folder, 'gateway') });
    await untilAllFind([restarted], 'ann', 'cy', 'dan');

    await test.bringBack();
    await keeper.forget(['cy'], { signal });
    await untilAllFind([restarted, stranger], 'ann', 'dan');
    await keeper.close();
  });
});
