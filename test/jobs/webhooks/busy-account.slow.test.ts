import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { announceToMany } from '../../store/announce-to-many.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';
import {
  addCustomer,
  addEvent,
  isDelivered,
  standingClock,
  startDispatcher,
  untilEvent,
} from './dispatching.ts';
import { startReceiver } from './start-receiver.ts';

/** Nobody listens there. */
const host = 'http://127.0.0.1';

describe.each(testEngines())('an account with hundreds of receivers on $kind', ({ create }) => {
  let data: TestStore;
  beforeAll(async () => {
    data = await create();
  });
  afterAll(() => data.remove());

  test('holds up no other one, and each of its receivers gets its turn', async () => {
    const { store } = data;
    const clock = standingClock();
    const now = clock.now();
    const busy = await addCustomer(store);
    const other = await addCustomer(store);
    const { accountId } = busy.owner;
    await announceToMany(data, { accountId, host, ports: 300, at: now - 1_000 });
    const { url } = await startReceiver({ secret: () => other.secret, now: clock.now });
    const { eventId } = await addEvent(store, { owner: other.owner, url, now });
    const untried = async (): Promise<number> => {
      const [row] = await data.sql(
        `select count(*) as events from webhook_events where account_id = '${accountId}' and attempts = 0`,
      );
      return Number(row?.events);
    };
    startDispatcher({ store, clock, sending: { total: 2, perHost: 1, perAccount: 1, perReceiver: 1 } });
    await untilEvent(store, eventId, isDelivered);
    expect(await untried()).toBeGreaterThan(100);
    await vi.waitFor(async () => expect(await untried()).toBe(0), { timeout: 60_000, interval: 100 });
  });
});
