import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import { createAlertLook, type AlertSources } from '../../src/gateway/watch-alerts.ts';
import { newWebhookSecret } from '../../src/jobs/webhooks/webhook-secrets.ts';
import { createTestDatabase } from '../cli/test-database.ts';
import { startTestGateway } from '../e2e/start-test-gateway.ts';
import { startUpstreamGateway } from '../e2e/start-upstream-gateway.ts';
import { standingClock } from '../jobs/webhooks/dispatching.ts';
import { startReceiver } from '../jobs/webhooks/start-receiver.ts';
import { createOperatorClient } from '../operator/operator-client.ts';
import { openTestStoreHere } from '../operator/open-test-store-here.ts';
import { shortChat } from '../providers/stub-upstream.ts';
import { addPayment, newPayment } from '../store/builders.ts';

const minute = 60_000;
const secret = newWebhookSecret();
const url = 'https://operator.example/alerts?token=secret';
/** A folder whose room cannot be read is left out. */
const nowhere = { dataDir: '/nowhere', mediaDir: null, s3: null };

interface Told {
  type: string;
  alert: string;
  subject: string;
  message: string | null;
}

const tellIn = async ({ store }: Pick<AlertSources, 'store'>): Promise<Told[]> => {
  const events = await store.listWebhooks({ limit: 100 });
  return events.map(({ body }) => JSON.parse(body) as Told).toReversed();
};

type Status = ReturnType<AlertSources['x402']['status']>[number];

const base: Status = {
  network: 'eip155:8453',
  label: 'Base',
  isTest: false,
  facilitator: 'local',
  ready: true,
  detail: null,
};
const poor: Status = { ...base, settlementsLeft: 3, detail: 'the settling account can pay for few' };

/** A deployment in which all is well, and what each of its processes has at hand. */
const open = async (sources: Partial<Omit<AlertSources, 'x402'>> = {}) => {
  const store = await openTestStoreHere();
  const clock = standingClock();
  const statuses: Status[] = [];
  const x402 = { status: () => statuses } as AlertSources['x402'];
  const given = {
    store,
    clock,
    x402,
    config: nowhere,
    providers: { health: () => [] },
    buyer: null,
    ...sources,
  };
  return {
    ...{ store, clock, statuses },
    after: (minutes: number) => clock.moveTo(clock.now() + minutes * minute),
    startLook: () => createAlertLook(given, url),
    told: () => tellIn(given),
  };
};

describe('what operators are told of', () => {
  it('is a settling account that is nearly empty, and a network that cannot be paid on', async () => {
    const { statuses, startLook, told } = await open();
    statuses.push(base, poor, {
      ...base,
      network: 'solana:1',
      label: 'Solana',
      ready: false,
      detail: 'no answer',
    });
    await startLook()();
    const bySubject = (await told()).toSorted((one, other) => one.subject.localeCompare(other.subject));
    expect(bySubject).toMatchObject([
      {
        alert: 'balance_low',
        subject: 'eip155:8453',
        message: 'Base: the settling account can pay for few.',
      },
      { alert: 'payments_failing', subject: 'solana:1', message: 'Solana: no answer.' },
    ]);
  });

  it('is an upstream that was not paid in the last minutes', async () => {
    const problems = new Map([['leads.http', { problem: 'the budget of the day is spent', at: Date.now() }]]);
    const { startLook, told, after } = await open({ buyer: { problems: () => problems } });
    const look = startLook();
    after(6);
    await look();
    expect(await told()).toEqual([]);
    after(-4);
    await look();
    expect(await told()).toMatchObject([{ alert: 'upstream_unpaid', subject: 'leads.http' }]);
  });

  it('is a payment that should have ended', async () => {
    const { store, clock, startLook, told } = await open();
    const payment = newPayment({ now: clock.now(), leaseUntil: clock.now() });
    await store.reservePayment(payment);
    const look = startLook();
    await look();
    expect(await told()).toEqual([]);
    await store.advancePayment({ ...payment, from: ['reserved'], to: 'unknown' });
    await look();
    expect(await told()).toMatchObject([
      { alert: 'payment_stuck', message: expect.stringContaining(payment.identity) },
    ]);
  });

  it('is a refund that was planned, and is not signed a quarter of an hour later', async () => {
    const { store, clock, startLook, after, told } = await open();
    const { identity } = await addPayment(store, 'delivered', { set: { payer: '0xpayer' } });
    const refund = { id: newId(), payment: identity, amount: null, note: null, acceptsUnknown: false };
    await store.planRefund({ ...refund, now: clock.now() });
    const look = startLook();
    after(15);
    await look();
    expect(await told()).toEqual([]);
    after(1);
    await look();
    expect(await told()).toMatchObject([
      { alert: 'payment_stuck', message: expect.stringContaining(refund.id) },
    ]);
  });

  it.skipIf(process.platform !== 'linux')('is a disk with little room', async () => {
    // It has no room at all.
    const { startLook, told } = await open({ config: { ...nowhere, mediaDir: '/proc' } });
    await startLook()();
    expect(await told()).toMatchObject([
      { alert: 'disk_low', subject: 'MEDIA_DIR', message: expect.stringContaining('has 0 MiB left') },
    ]);
  });

  it('is neither lost nor repeated by a restart while it holds', async () => {
    const { statuses, startLook, after, told } = await open();
    statuses.push(poor);
    await startLook()();
    after(60);
    const look = startLook();
    statuses.pop();
    // The new process has asked nobody yet.
    await look();
    statuses.push(poor);
    for (let minutes = 0; minutes < 7; minutes += 1) {
      after(1);
      await look();
    }
    expect(await told()).toMatchObject([{ type: 'alert.began' }]);
    statuses.pop();
    after(6);
    await look();
    expect(await told()).toMatchObject([
      { type: 'alert.began' },
      { type: 'alert.ended', alert: 'balance_low' },
    ]);
  });

  it('holds as long as one of several processes sees it', async () => {
    const { statuses, startLook, after, told } = await open();
    const [first, second] = [startLook(), startLook()];
    for (let minutes = 0; minutes < 8; minutes += 1) {
      statuses.push(poor);
      await first();
      statuses.pop();
      after(1);
      await second();
    }
    expect(await told()).toMatchObject([{ type: 'alert.began' }]);
  });
});

const database = await createTestDatabase();

/** Gateways with one upstream on one store, and the receiver of their operator. */
const start = async (environment: Record<string, string> = {}) => {
  const receiver = await startReceiver({ secret: () => secret, now: Date.now });
  const all = {
    ...{ ALERT_WEBHOOK_URL: receiver.url, ALERT_WEBHOOK_SECRET: secret },
    // No facilitator is there to be asked.
    X402_NETWORKS: 'none',
    ...environment,
  };
  const served = await startUpstreamGateway(all);
  onTestFinished(() => served.stop());
  const { services } = served.gateway;
  const clock = standingClock();
  // What is written is due on the clock of the gateway.
  clock.moveTo(Date.now() - 60 * minute);
  const told = () => receiver.deliveries.map(({ raw }) => JSON.parse(raw.toString('utf8')) as Told);
  const untilSent = () =>
    vi.waitUntil(
      async () =>
        (await services.store.listWebhooks({ limit: 100 })).every(({ state }) => state === 'delivered'),
      { timeout: 60_000 },
    );
  return {
    ...served,
    receiver,
    clock,
    services,
    environment: all,
    told,
    untilSent,
  };
};

describe('alerts of a gateway', () => {
  it('are sent signed when a provider begins to fail, and when it has answered again', async () => {
    const { upstream, ask, services, receiver, clock, told, untilSent } = await start();
    const look = createAlertLook({ ...services, config: nowhere, clock }, receiver.url);
    upstream.setDefault({ kind: 'error', status: 503 });
    await ask();
    await look();
    upstream.setDefault(shortChat);
    expect((await ask()).status).toBe(200);
    clock.moveTo(clock.now() + 4 * minute);
    await look();
    await untilSent();
    expect(told()).toMatchObject([
      {
        ...{ type: 'alert.began', alert: 'provider_down', subject: 'up/upstream-name' },
        message: 'Calls of upstream-name at up fail (upstream_unavailable). It serves textmodel-3.5-flash.',
      },
    ]);
    clock.moveTo(clock.now() + 2 * minute);
    await look();
    await untilSent();
    expect(told()).toMatchObject([{}, { type: 'alert.ended', alert: 'provider_down', message: null }]);
    expect(receiver.deliveries.every(({ isGenuine }) => isGenuine)).toBe(true);
  });

  it.skipIf(database === null)('are sent once by two gateways on one store', async () => {
    onTestFinished(() => database?.drop());
    const { upstream, ask, services, receiver, clock, environment, told, untilSent } = await start({
      DATABASE_URL: database?.url ?? '',
    });
    const second = await startTestGateway({ environment });
    onTestFinished(() => second.stop());
    upstream.setDefault({ kind: 'error', status: 503 });
    await ask();
    const { providers } = services;
    const looks = [services, second.services].map((each) =>
      createAlertLook({ ...each, providers, config: nowhere, clock }, receiver.url),
    );
    await Promise.all(looks.map((look) => look()));
    await untilSent();
    expect(told()).toHaveLength(1);
  });

  it('are tried by a test event, which an operator sees among the webhooks without the secret address', async () => {
    const { gateway, receiver, untilSent, told } = await start();
    const client = await createOperatorClient(gateway);
    const { status, body } = await client.post('/alerts/test');
    expect(status).toBe(200);
    await untilSent();
    expect(told()).toMatchObject([{ type: 'webhook.test' }]);
    expect(receiver.deliveries[0]).toMatchObject({ isGenuine: true });
    const listed = (await client.get('/webhooks')).body;
    expect(listed).toMatchObject({
      webhooks: [
        { event: 'webhook.test', account_id: null, url: new URL(receiver.url).origin, state: 'delivered' },
      ],
    });
    expect(body).toMatchObject({ webhook: { event: 'webhook.test' } });
  });

  it('need an address and a secret', async () => {
    const gateway = await startTestGateway();
    onTestFinished(() => gateway.stop());
    const client = await createOperatorClient(gateway);
    expect(await client.post('/alerts/test')).toMatchObject({
      status: 409,
      body: { error: { code: 'invalid_setting', message: expect.stringContaining('ALERT_WEBHOOK_URL') } },
    });
    for (const [name, value] of [
      ['ALERT_WEBHOOK_URL', url],
      ['ALERT_WEBHOOK_SECRET', secret],
    ] as const)
      await expect(startTestGateway({ environment: { [name]: value } })).rejects.toThrow(
        /^ALERT_WEBHOOK_\w+: is not set; /,
      );
    await expect(
      startTestGateway({ environment: { ALERT_WEBHOOK_URL: url, ALERT_WEBHOOK_SECRET: 'short' } }),
    ).rejects.toThrow(/^ALERT_WEBHOOK_SECRET: must be whsec_ /);
  });
});
