import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createRecordedLog } from '../cache/recorded-log.ts';
import { testEngines, type TestStore } from '../store/open-test-store.ts';
import { startDispatching } from './dispatching-process.ts';
import {
  addCustomer,
  addEvent,
  isDelivered,
  standingClock,
  startDispatcher,
  untilEvent,
  type Customer,
  type MovableClock,
} from './dispatching.ts';
import { startReceiver, type Delivery, type Reaction, type Receiver } from './start-receiver.ts';

describe.each(await testEngines())('webhooks over $kind', ({ create }) => {
  let data: TestStore;
  let customer: Customer;
  let clock: MovableClock;
  beforeEach(async () => {
    data = await create();
    customer = await addCustomer(data.store);
    clock = standingClock();
  });
  afterEach(() => data.remove());

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
    const dispatcher = start({
      timeoutMs: 10_000,
      pollMs: 1_000_000,
      keeping: { total: 12, perHost: 8, perAccount: 12 },
    });
    await untilEvent(data.store, next.eventId, isDelivered);
    await vi.waitFor(() => expect(atOnce).toBe(4), { timeout: 10_000 });
    const last = await announce(quick.url);
    dispatcher.wake();
    await untilEvent(data.store, last.eventId, isDelivered);
    expect(slow.deliveries.length).toBe(4);
    go.resolve();
    // Eight at least were kept each time; the others are due again when their lease ends.
    for (const count of [8, 16, 24]) {
      await vi.waitFor(() => expect(slow.deliveries.length).toBeGreaterThanOrEqual(count), {
        timeout: 10_000,
      });
      clock.moveTo(clock.now() + 30_000);
      dispatcher.wake();
    }
    for (const { eventId } of waiting) await untilEvent(data.store, eventId, isDelivered);
    expect([most, slow.deliveries.length]).toEqual([4, 24]);
  });

  test('one word is enough for all that is due, however little may be sent or kept at once', async () => {
    const { url, deliveries } = await open();
    const oneByOne = start({ pollMs: 1_000_000, sending: { total: 1, perHost: 1, perAccount: 1 } });
    const few = await Promise.all(Array.from({ length: 5 }, () => announce(url)));
    oneByOne.wake();
    for (const { eventId } of few) await untilEvent(data.store, eventId, isDelivered);
    await oneByOne.drain(0);
    const more = await Promise.all(Array.from({ length: 5 }, () => announce(url)));
    start({ pollMs: 1_000_000, keeping: { total: 2, perHost: 2, perAccount: 2 } }).wake();
    for (const { eventId } of more) await untilEvent(data.store, eventId, isDelivered);
    expect(deliveries.length).toBe(10);
  });

  test('an event that waited here for its share until its lease has little left is left to the next claim', async () => {
    const arrived = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const { url, deliveries } = await open((_delivery, index) => {
      arrived.resolve();
      return index === 0 ? go.promise : 204;
    });
    const first = await announce(url);
    clock.moveTo(clock.now() + 1);
    const second = await announce(url);
    start({ timeoutMs: 10_000, sending: { total: 1, perHost: 1, perAccount: 1 } });
    await arrived.promise;
    // Fifteen seconds are needed, of thirty.
    clock.moveTo(clock.now() + 15_001);
    go.resolve();
    await untilEvent(data.store, first.eventId, isDelivered);
    const third = await announce(url);
    await untilEvent(data.store, third.eventId, isDelivered);
    expect(deliveries.map(({ eventId }) => eventId)).toEqual([first.eventId, third.eventId]);
    clock.moveTo(clock.now() + 15_000);
    await untilEvent(data.store, second.eventId, isDelivered);
  });

  test('an event whose lease runs out while this process sends it is not sent a second time beside', async () => {
    const arrived = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const { url, deliveries } = await open((_delivery, index) => {
      arrived.resolve();
      return index === 0 ? go.promise : 204;
    });
    const { eventId } = await announce(url);
    start({ timeoutMs: 10_000 });
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
    const dispatcher = start({ timeoutMs: 10_000 });
    await arrived.promise;
    const drained = dispatcher.drain(10_000);
    const late = await announce(url);
    dispatcher.wake();
    go.resolve();
    await drained;
    expect(await data.store.getWebhook(eventId)).toMatchObject({ state: 'delivered' });
    expect(await data.store.getWebhook(late.eventId)).toMatchObject({ state: 'pending', attempts: 0 });
    expect(deliveries.length).toBe(1);
  });

  test('what draining breaks off counts as no attempt, and is sent again after its lease', async () => {
    const arrived = Promise.withResolvers<void>();
    const { url, deliveries } = await open((_delivery, index) => {
      arrived.resolve();
      return index === 0 ? 'hang' : 204;
    });
    const { eventId, body } = await announce(url);
    const dispatcher = start({ timeoutMs: 10_000 });
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
      store: {
        claimWebhooks: failing((input) => store.claimWebhooks(input), 2),
        recordWebhookAttempt: failing((input) => store.recordWebhookAttempt(input), 1),
        getWebhookSecrets: failing((input) => store.getWebhookSecrets(input), 1),
        ensureWebhookSecret: (input) => store.ensureWebhookSecret(input),
      },
    });
    for (const count of [3, 4]) {
      await vi.waitFor(() => expect(failures).toBe(count), { timeout: 10_000 });
      // It is this dispatcher's until then.
      clock.moveTo(clock.now() + 30_000);
    }
    await untilEvent(data.store, eventId, isDelivered);
    expect(deliveries.length).toBe(2);
    expect(lines.filter((line) => (line as { level: number }).level === 50).length).toBe(4);
  });
});
