import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { WebhookEvent } from '../../../src/store/store.ts';
import { createRecordedLog } from '../../limits/recorded-log.ts';
import { listen, openOutbound, startTcp } from '../../http/local-hosts.ts';
import { makeCertificate } from '../../http/make-certificate.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';
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
import { receiveInto, startReceiver, type Delivery, type Reaction, type Receiver } from './start-receiver.ts';
import { addTestWebhook } from '../../../src/jobs/webhooks/add-test-webhook.ts';
import { newWebhookSecret, rotateWebhookSecret } from '../../../src/jobs/webhooks/webhook-secrets.ts';

const hour = 3_600_000;
/** For a receiver that hangs: long enough for the delivery to arrive there. */
const briefly = { timeoutMs: 2_000 };

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
  /**
   * Runs a dispatcher until the event is so. A dispatcher that still has the event in hand when it becomes due again
   * would renew its lease, which never ends on a clock that stands: so each attempt has a dispatcher of its own.
   */
  const attemptOnce = async (
    eventId: string,
    isSo: (event: WebhookEvent) => boolean,
    options: Parameters<typeof start>[0] = {},
  ): Promise<WebhookEvent> => {
    const dispatcher = start(options);
    const event = await untilEvent(data.store, eventId, isSo);
    await dispatcher.drain(60_000);
    return event;
  };

  test('an event is posted once, exactly as it was written, and signed for both kinds of receivers', async () => {
    const { url, deliveries } = await open();
    const { eventId, body } = await announce(url);
    start();
    const event = await untilEvent(data.store, eventId, isDelivered);
    expect(event).toMatchObject({ attempts: 1, nextAttemptAt: null });
    expect(await data.store.listWebhookAttempts(eventId)).toEqual([
      { eventId, at: clock.now(), durationMs: 0, httpStatus: 204, failure: null },
    ]);
    const [delivery] = deliveries;
    expect(delivery).toMatchObject({
      method: 'POST',
      isGenuine: true,
      raw: Buffer.from(body),
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Causeway-Webhooks/1',
        'webhook-id': eventId,
      },
    });
    const headers = delivery?.headers as Record<string, string>;
    expect(new Webhook(customer.secret).verify(delivery?.raw ?? '', headers)).toEqual(JSON.parse(body));
    expect(deliveries.length).toBe(1);
  });

  test('an event is posted over TLS only to a host with a valid certificate', async () => {
    const authority = makeCertificate({ name: 'Test authority' });
    const leaf = makeCertificate({ name: 'hooks', hosts: ['hooks.test'], issuer: authority.issuer });
    const deliveries: Delivery[] = [];
    const server = createHttpsServer(
      { cert: leaf.cert, key: leaf.key },
      receiveInto(deliveries, { secret: () => customer.secret, now: clock.now }),
    );
    const port = await listen(server);
    onTestFinished(() => {
      server.close();
    });
    const right = await announce(`https://hooks.test:${port}/`);
    const wrong = await announce(`https://other.test:${port}/`);
    start({ outbound: openOutbound({ ca: authority.cert, resolve: async () => ['127.0.0.1'] }) });
    await untilEvent(data.store, right.eventId, isDelivered);
    await untilEvent(data.store, wrong.eventId, ({ attempts }) => attempts === 1);
    expect(deliveries.map(({ eventId, isGenuine }) => [eventId, isGenuine])).toEqual([[right.eventId, true]]);
    expect(await data.store.listWebhookAttempts(wrong.eventId)).toMatchObject([
      { httpStatus: null, failure: 'bad_certificate' },
    ]);
  });

  test('a busy receiver gets the delay that it asks for, up to the next step of the schedule', async () => {
    const date = (): string => new Date(clock.now() + 600_000).toUTCString();
    const busy = (status: number, after: string): Reaction => ({ status, headers: { 'retry-after': after } });
    const asked: [() => Reaction, seconds: number][] = [
      [() => busy(503, '17'), 17],
      [() => busy(429, '1'), 30],
      [() => busy(429, date()), 600],
      [() => busy(503, 'soon'), 600],
      [() => busy(500, '7000'), 1_800],
      [() => busy(503, '99999999'), 21_600],
    ];
    const { url } = await open((_delivery, index) => asked[index]?.[0]() ?? 204);
    // Whole seconds, as a date in a header has no more.
    clock.moveTo(Math.ceil(clock.now() / 1_000) * 1_000);
    const { eventId } = await announce(url);
    for (const [index, [, seconds]] of asked.entries()) {
      const { nextAttemptAt } = await attemptOnce(eventId, ({ attempts }) => attempts === index + 1);
      expect([index, ((nextAttemptAt ?? 0) - clock.now()) / 1_000]).toEqual([index, seconds]);
      clock.moveTo(nextAttemptAt ?? 0);
    }
    await attemptOnce(eventId, isDelivered);
  });

  test('a failed event is tried again on schedule with the same bytes, and its final failure is logged', async () => {
    const reactions: Reaction[] = [
      500,
      'hang',
      'reset',
      { status: 302, headers: { location: '/elsewhere' } },
      { status: 308, headers: { location: '/elsewhere' } },
      404,
      429,
      401,
      503,
    ];
    const failures = reactions.map((reaction) => {
      if (reaction === 'hang') return 'timeout';
      if (reaction === 'reset') return 'broken_off';
      return `http_${typeof reaction === 'number' ? reaction : (reaction as { status: number }).status}`;
    });
    const { url, deliveries } = await open((_delivery, index) => reactions[index] ?? 204);
    const { eventId, body } = await announce(url);
    const { log, lines } = createRecordedLog();
    const delays: number[] = [];
    for (let attempts = 1; attempts <= reactions.length; attempts += 1) {
      const { state, nextAttemptAt } = await attemptOnce(eventId, (event) => event.attempts === attempts, {
        log,
        ...(reactions[attempts - 1] === 'hang' ? briefly : {}),
      });
      if (nextAttemptAt === null) {
        expect([attempts, state]).toEqual([reactions.length, 'exhausted']);
        continue;
      }
      delays.push((nextAttemptAt - clock.now()) / 1_000);
      clock.moveTo(nextAttemptAt);
    }
    expect(delays).toEqual([5, 30, 120, 600, 1_800, 7_200, 21_600, 43_200]);
    const attempts = await data.store.listWebhookAttempts(eventId);
    expect(attempts.map(({ failure }) => failure)).toEqual(failures);
    expect(deliveries.length).toBe(reactions.length);
    expect(deliveries.every(({ isGenuine }) => isGenuine)).toBe(true);
    expect(new Set(deliveries.map(({ raw }) => raw.toString('utf8')))).toEqual(new Set([body]));
    expect(new Set(deliveries.map(({ headers }) => headers['x-causeway-signature'])).size).toBe(9);
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 40, eventId, httpStatus: 503, host: expect.stringContaining('127.') }),
    );
    expect(JSON.stringify(lines)).not.toContain('/hooks/images');
  });

  test('an event that is not due yet is not sent', async () => {
    const { url, deliveries } = await open((_delivery, index) => (index === 0 ? 500 : 204));
    const { eventId } = await announce(url);
    start();
    const { nextAttemptAt } = await untilEvent(data.store, eventId, ({ attempts }) => attempts === 1);
    clock.moveTo((nextAttemptAt ?? 0) - 1);
    // What is due later is delivered meanwhile, so the dispatcher has looked.
    const other = await announce(url);
    await untilEvent(data.store, other.eventId, isDelivered);
    expect(deliveries.map((delivery) => delivery.eventId)).toEqual([eventId, other.eventId]);
    clock.moveTo(nextAttemptAt ?? 0);
    await untilEvent(data.store, eventId, isDelivered);
  });

  test('status 410 stops an event, and an operator can redeliver it with the same id and bytes', async () => {
    const { url, deliveries } = await open((_delivery, index) => (index === 0 ? 410 : 299));
    const { eventId, body } = await announce(url);
    const stopped = await attemptOnce(eventId, ({ state }) => state !== 'pending');
    expect(stopped).toMatchObject({ state: 'stopped', attempts: 1, nextAttemptAt: null });
    await data.store.redeliverWebhook({ eventId, now: clock.now() });
    await attemptOnce(eventId, isDelivered);
    expect(deliveries.map(({ raw }) => raw.toString('utf8'))).toEqual([body, body]);
    const attempts = await data.store.listWebhookAttempts(eventId);
    expect(attempts.map(({ httpStatus, failure }) => [httpStatus, failure])).toEqual([
      [410, 'http_410'],
      [299, null],
    ]);
  });

  test('a receiver that cannot be reached, or is not public, is tried again', async () => {
    const server = createServer();
    const port = await listen(server);
    server.close();
    const gone = await announce(`http://127.0.0.1:${port}/`);
    const inside = await announce('https://inside.test/');
    start({ outbound: openOutbound({ resolve: async () => ['10.0.0.1'] }) });
    for (const [{ eventId }, failure] of [
      [gone, 'unreachable'],
      [inside, 'not_public'],
    ] as const) {
      const event = await untilEvent(data.store, eventId, ({ attempts }) => attempts === 1);
      expect(event).toMatchObject({ state: 'pending', nextAttemptAt: clock.now() + 5_000 });
      expect(await data.store.listWebhookAttempts(eventId)).toMatchObject([{ httpStatus: null, failure }]);
    }
  });

  test('an alert goes to the address and with the secret of the settings, which may be private', async () => {
    const secret = newWebhookSecret();
    const { url, deliveries } = await startReceiver({ secret: () => secret, now: clock.now });
    const id = randomUUID();
    await addTestWebhook({ ...data, clock }, { id, accountId: null, url: 'https://former.example' });
    start({ outbound: openOutbound({ allowsLoopback: false }), alerts: { url, secret } });
    await untilEvent(data.store, id, isDelivered);
    expect(deliveries).toMatchObject([{ eventId: id, isGenuine: true }]);
  });

  test('an alert waits while the settings name no address, as after a failure', async () => {
    const alert = { alert: 'disk_low', subject: 'DATA_DIR', message: 'It is full.' };
    await data.store.holdAlert({ ...alert, url: 'https://former.example', now: clock.now() });
    const [{ id } = { id: '' }] = await data.store.listWebhooks({ states: ['pending'], limit: 1 });
    start();
    await untilEvent(data.store, id, ({ attempts }) => attempts === 1);
    expect(await data.store.getWebhook(id)).toMatchObject({ state: 'pending' });
    expect(await data.store.listWebhookAttempts(id)).toMatchObject([{ failure: 'not_configured' }]);
  });

  test('nothing is sent to loopback if it is not allowed', async () => {
    const { port, sockets } = await startTcp(() => undefined);
    const plain = await announce(`http://127.0.0.1:${port}/`);
    const named = await announce('https://localhost/');
    start({ outbound: openOutbound({ allowsLoopback: false }) });
    for (const { eventId } of [plain, named])
      await untilEvent(data.store, eventId, ({ attempts }) => attempts === 1);
    expect(sockets).toEqual([]);
  });

  test('an event that becomes due in this process is sent at once', async () => {
    const { url, deliveries } = await open();
    const dispatcher = start({ pollMs: 1_000_000 });
    const first = await announce(url);
    dispatcher.wake();
    await untilEvent(data.store, first.eventId, isDelivered);
    const second = await announce(url);
    dispatcher.wake();
    await untilEvent(data.store, second.eventId, isDelivered);
    expect(deliveries.map(({ eventId }) => eventId)).toEqual([first.eventId, second.eventId]);
  });

  test('a secret that was rotated signs for another 24 hours beside the new one', async () => {
    const former = customer.secret;
    const patient = await open();
    const rotated = await rotateWebhookSecret({ store: data.store, clock }, customer.owner.accountId, {
      again: true,
    });
    expect(rotated?.previous?.secret).toBe(former);
    const current = rotated?.current ?? '';
    start();
    const deliver = async (): Promise<Delivery | undefined> => {
      const { eventId } = await announce(patient.url);
      await untilEvent(data.store, eventId, ({ attempts }) => attempts === 1);
      return patient.deliveries.at(-1);
    };
    for (const [time, secret, isGenuine] of [
      [0, former, true],
      [0, current, true],
      [24 * hour - 1, former, true],
      [24 * hour, former, false],
      [24 * hour, current, true],
    ] as const) {
      clock.moveTo(Math.max(clock.now(), (rotated?.previous?.until ?? 0) - 24 * hour + time));
      customer.secret = secret;
      expect((await deliver())?.isGenuine).toBe(isGenuine);
    }
  });

  test('a receiver that drops duplicates by event_id acts once on an event that it could not acknowledge', async () => {
    const acted = new Set<string>();
    const { url, deliveries } = await open(({ eventId }, index) => {
      acted.add(eventId);
      return index === 0 ? 'hang' : 200;
    });
    const { eventId } = await announce(url);
    const { nextAttemptAt } = await attemptOnce(eventId, ({ attempts }) => attempts === 1, briefly);
    clock.moveTo(nextAttemptAt ?? 0);
    await attemptOnce(eventId, isDelivered);
    expect([deliveries.length, [...acted]]).toEqual([2, [eventId]]);
  });
});
