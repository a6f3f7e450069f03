import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createRecordedLog } from '../../limits/recorded-log.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';
import { startDispatching } from './dispatching-process.ts';
import {
  addCustomer,
  addEvent,
  isDelivered,
  standingClock,
  startDispatcher,
  stopAll,
  untilEvent,
  type Customer,
  type MovableClock,
} from './dispatching.ts';
import { shareHost, startReceiver, type Delivery, type Reaction, type Receiver } from './start-receiver.ts';

/** Everything goes through one place. */
const oneByOne = { total: 1, perHost: 1, perAccount: 1, perReceiver: 1 };

const patience = { timeout: 60_000 };

/** Columns that copies of an event share with it. */
const copied = 'account_id, job_id, url, body, state, next_attempt_at, created_at, updated_at';

describe.each(testEngines())('webhooks over $kind', ({ create }) => {
  let data: TestStore;
  let customer: Customer;
  let clock: MovableClock;
  beforeAll(async () => {
    data = await create();
  });
  beforeEach(async () => {
    customer = await addCustomer(data.store);
    clock = standingClock();
  });
  afterEach(() => stopAll(data));
  afterAll(() => data.remove());

  const open = (react?: (delivery: Delivery, index: number) => Reaction): Promise<Receiver> =>
    startReceiver({ secret: () => customer.secret, now: clock.now, react });
  const announce = (url: string) => addEvent(data.store, { owner: customer.owner, url, now: clock.now() });
  const start = (options: Partial<Parameters<typeof startDispatcher>[0]> = {}) =>
    startDispatcher({ store: data.store, clock, ...options });

  test('a process that is killed after the POST leaves the event to the next one, with the same id and bytes', async () => {
    const arrived = Promise.withResolvers<void>();
    const { url, deliveries } = await open((_delivery, index) => {
      arrived.resolve();
      return index === 0 ? 'hang' : 200;
    });
    const { eventId, body } = await announce(url);
    const child = startDispatching(data);
    await arrived.promise;
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await data.store.getWebhook(eventId)).toMatchObject({ state: 'pending', attempts: 0 });
    const dispatcher = start();
    // Nobody knows yet that its owner is dead.
    const other = await announce(url);
    dispatcher.wake();
    await untilEvent(data.store, other.eventId, isDelivered);
    expect(await data.store.getWebhook(eventId)).toMatchObject({ state: 'pending', attempts: 0 });
    clock.moveTo(Date.now() + 30_000);
    await untilEvent(data.store, eventId, isDelivered);
    const [first, , again] = deliveries;
    expect([first?.eventId, again?.eventId]).toEqual([eventId, eventId]);
    expect([first?.raw.toString('utf8'), again?.raw.toString('utf8')]).toEqual([body, body]);
  });

  test('two dispatchers on one store deliver each of many events once', async () => {
    const { url, deliveries } = await open();
    const events = await Promise.all(Array.from({ length: 60 }, () => announce(url)));
    const another = await data.openAnother();
    start();
    start({ store: another });
    for (const { eventId } of events) await untilEvent(data.store, eventId, isDelivered);
    expect(deliveries.map(({ eventId }) => eventId).sort()).toEqual(
      events.map(({ eventId }) => eventId).sort(),
    );
  });

  test('a receiver that hangs is given four deliveries at once, and holds up nobody else', async () => {
    let atOnce = 0;
    let most = 0;
    const go = Promise.withResolvers<void>();
    const slow = await open(async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await go.promise;
      atOnce -= 1;
    });
    const quick = await open();
    const waiting = await Promise.all(Array.from({ length: 24 }, () => announce(slow.url)));
    const next = await announce(quick.url);
    const dispatcher = start({ pollMs: 1_000_000 });
    await untilEvent(data.store, next.eventId, isDelivered);
    await vi.waitFor(() => expect(atOnce).toBe(4), patience);
    const last = await announce(quick.url);
    dispatcher.wake();
    await untilEvent(data.store, last.eventId, isDelivered);
    expect(slow.deliveries.length).toBe(4);
    go.resolve();
    for (const { eventId } of waiting) await untilEvent(data.store, eventId, isDelivered);
    expect([most, slow.deliveries.length]).toEqual([4, 24]);
  });

  test('customers at one host hold up no other there: each gets half of its share at most, and they take turns', async () => {
    const dead = await addCustomer(data.store);
    const living = await addCustomer(data.store);
    const goes: (() => void)[] = [];
    const hang = (): Promise<void> => new Promise((resolve) => goes.push(resolve));
    const { now } = clock;
    const { url, deliveriesTo } = await shareHost([
      { path: '/1', secret: () => customer.secret, now, react: hang },
      { path: '/2', secret: () => dead.secret, now, react: hang },
      { path: '/3', secret: () => living.secret, now },
    ]);
    const announceTo = ({ owner }: Customer, path: string) =>
      addEvent(data.store, { owner, url: url + path, now: clock.now() });
    await Promise.all(Array.from({ length: 9 }, () => announceTo(customer, '/1')));
    clock.moveTo(clock.now() + 1);
    const first = await announceTo(living, '/3');
    const dispatcher = start({ pollMs: 1_000_000 });
    await untilEvent(data.store, first.eventId, isDelivered);
    await Promise.all(Array.from({ length: 9 }, () => announceTo(dead, '/2')));
    dispatcher.wake();
    await vi.waitFor(() => expect(goes.length).toBe(8), patience);
    const second = await announceTo(living, '/3');
    dispatcher.wake();
    goes[0]?.();
    await untilEvent(data.store, second.eventId, isDelivered);
    // Its place goes to one of those who wait longer.
    await vi.waitFor(() => expect(goes.length).toBe(9), patience);
    expect(deliveriesTo('/3').map(({ eventId, isGenuine }) => [eventId, isGenuine])).toEqual([
      [first.eventId, true],
      [second.eventId, true],
    ]);
  });

  test('a backlog goes as fast as its receiver answers, and waits for no lease', async () => {
    const { url, deliveries } = await open();
    await announce(url);
    await data.sql(`insert into webhook_events (${copied}, id)
      with recursive n (i) as (select 1 union all select i + 1 from n where i < 299)
      select ${copied}, id || ' ' || i from webhook_events cross join n where state = 'pending'`);
    start({ pollMs: 1_000_000 });
    await vi.waitFor(() => expect(deliveries.length).toBe(300), patience);
    expect(new Set(deliveries.map(({ headers }) => headers['webhook-id'])).size).toBe(300);
  });

  test('what waits for its share is under no lease: another process sends it meanwhile', async () => {
    const arrived = Promise.withResolvers<void>();
    const { url, deliveries } = await open((_delivery, index) => {
      arrived.resolve();
      return index === 0 ? 'hang' : 204;
    });
    const events = await Promise.all(Array.from({ length: 5 }, () => announce(url)));
    start({ sending: oneByOne });
    await arrived.promise;
    start({ store: await data.openAnother() });
    const sent = deliveries[0]?.eventId;
    for (const { eventId } of events)
      if (eventId !== sent) await untilEvent(data.store, eventId, isDelivered);
    expect(deliveries.length).toBe(5);
  });

  test('one word is enough for all that is due, however little may be sent at once', async () => {
    const { url, deliveries } = await open();
    const dispatcher = start({ pollMs: 1_000_000, sending: oneByOne });
    const events = await Promise.all(Array.from({ length: 5 }, () => announce(url)));
    dispatcher.wake();
    for (const { eventId } of events) await untilEvent(data.store, eventId, isDelivered);
    expect(deliveries.length).toBe(5);
  });

  test('an event whose lease runs out while this process sends it is not sent a second time beside', async () => {
    const arrived = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const { url, deliveries } = await open((_delivery, index) => {
      arrived.resolve();
      return index === 0 ? go.promise : 204;
    });
    const { eventId } = await announce(url);
    start();
    await arrived.promise;
    clock.moveTo(clock.now() + 31_000);
    const other = await announce(url);
    await untilEvent(data.store, other.eventId, isDelivered);
    go.resolve();
    expect(await untilEvent(data.store, eventId, isDelivered)).toMatchObject({ attempts: 1 });
    expect(deliveries.map((delivery) => delivery.eventId)).toEqual([eventId, other.eventId]);
  });

  test('draining waits for what is being sent and begins nothing', async () => {
    const arrived = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const { url, deliveries } = await open(() => {
      arrived.resolve();
      return go.promise;
    });
    const { eventId } = await announce(url);
    const dispatcher = start();
    await arrived.promise;
    const drained = dispatcher.drain(60_000);
    const late = await announce(url);
    dispatcher.wake();
    go.resolve();
    await drained;
    expect(await data.store.getWebhook(eventId)).toMatchObject({ state: 'delivered' });
    expect(await data.store.getWebhook(late.eventId)).toMatchObject({ state: 'pending', attempts: 0 });
    expect(deliveries.length).toBe(1);
  });

  test('what is just being claimed when draining begins is left to its lease', async () => {
    const { url, deliveries } = await open();
    const { eventId } = await announce(url);
    const claiming = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const { store } = data;
    const claimWebhooks: typeof store.claimWebhooks = async (input) => {
      claiming.resolve();
      await go.promise;
      return store.claimWebhooks(input);
    };
    const dispatcher = start({ store: { ...store, claimWebhooks } });
    await claiming.promise;
    const drained = dispatcher.drain(60_000);
    go.resolve();
    await drained;
    expect(deliveries).toEqual([]);
    clock.moveTo(clock.now() + 30_000);
    start();
    await untilEvent(store, eventId, isDelivered);
  });

  test('what draining breaks off counts as no attempt, and is sent again after its lease', async () => {
    const arrived = Promise.withResolvers<void>();
    const { url, deliveries } = await open((_delivery, index) => {
      arrived.resolve();
      return index === 0 ? 'hang' : 204;
    });
    const { eventId, body } = await announce(url);
    const dispatcher = start();
    await arrived.promise;
    await dispatcher.drain(0);
    expect(await data.store.listWebhookAttempts(eventId)).toEqual([]);
    clock.moveTo(clock.now() + 30_000);
    start();
    await untilEvent(data.store, eventId, isDelivered);
    expect(deliveries.map(({ raw }) => raw.toString('utf8'))).toEqual([body, body]);
  });

  test('while the store fails nothing is lost, and delivery goes on afterwards', async () => {
    const { url, deliveries } = await open();
    const { eventId } = await announce(url);
    let failures = 0;
    const failing = <Input, Output>(command: (input: Input) => Promise<Output>, times: number) => {
      let left = times;
      return (input: Input): Promise<Output> => {
        if (left === 0) return command(input);
        left -= 1;
        failures += 1;
        return Promise.reject(new Error('the disk is full'));
      };
    };
    const { store } = data;
    const { log, lines } = createRecordedLog();
    start({
      log,
      sending: oneByOne,
      store: {
        listDueWebhooks: failing((input) => store.listDueWebhooks(input), 1),
        claimWebhooks: failing((input) => store.claimWebhooks(input), 1),
        recordWebhookAttempt: failing((input) => store.recordWebhookAttempt(input), 1),
        getWebhookSecrets: failing((input) => store.getWebhookSecrets(input), 1),
        ensureWebhookSecret: (input) => store.ensureWebhookSecret(input),
      },
    });
    for (const count of [3, 4]) {
      await vi.waitFor(() => expect(failures).toBe(count), patience);
      // It is this dispatcher's until then.
      clock.moveTo(clock.now() + 30_000);
    }
    await untilEvent(data.store, eventId, isDelivered);
    expect(deliveries.length).toBe(2);
    expect(lines.filter((line) => (line as { level: number }).level === 50).length).toBe(4);
  });
});
