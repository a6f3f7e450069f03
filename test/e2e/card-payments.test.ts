import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { signEvent } from '../payments/cards/stripe-stub.ts';
import { startCardGateway } from './start-card-gateway.ts';
import { startTestGateway } from './start-test-gateway.ts';

describe('a gateway that sells top-ups by card', () => {
  let site: Awaited<ReturnType<typeof startCardGateway>>;
  let stripe: typeof site.stripe;
  let gateway: typeof site.gateway;
  beforeAll(async () => {
    site = await startCardGateway();
    ({ stripe, gateway } = site);
  });
  afterAll(() => site.stop());

  const balance = async () =>
    ((await (await gateway.call('/v1/balance')).json()) as { balance_usd: string }).balance_usd;
  const post = (body: string, signature: string | null): Promise<Response> =>
    fetch(`${gateway.url}/webhooks/stripe`, {
      method: 'POST',
      headers: signature === null ? {} : { 'stripe-signature': signature },
      body,
    });

  it('opens a page of Stripe, and raises the balance when Stripe tells that it was paid', async () => {
    const answer = await gateway.call('/v1/balance/checkout', { body: { amount_usd: 20 } });
    const opened = (await answer.json()) as { id: string; url: string };
    const session = stripe.sessionOf(opened.id);
    expect(answer.status).toBe(200);
    expect(opened).toEqual({ object: 'checkout', id: opened.id, amount_usd: '20.00', url: session.url });
    const told = await stripe.deliver(stripe.complete(session), gateway.url);
    expect([told.status, await told.json()]).toEqual([200, { received: true }]);
    expect(await balance()).toBe('45.00');
    const { data } = (await (await gateway.call('/v1/transactions')).json()) as { data: object[] };
    expect(data[0]).toMatchObject({ type: 'topup', amount_usd: '20.00' });
    await stripe.deliver(stripe.refund(session, 2_000), gateway.url);
    expect(await balance()).toBe('25.00');
  });

  it('refuses an event with a wrong, an old or no signature, and one that is too large', async () => {
    const { id } = (await (
      await gateway.call('/v1/balance/checkout', { body: { amount_usd: '5.00' } })
    ).json()) as { id: string };
    const body = JSON.stringify(stripe.complete(stripe.sessionOf(id)));
    const old = Math.floor(Date.now() / 1_000) - 301;
    const refused = [
      await post(body, null),
      await post(body, signEvent(body, { secret: 'whsec_another' })),
      await post(body, signEvent(body, { at: old })),
      await post(`${body} `, signEvent(body)),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    expect(await refused[0]?.json()).toMatchObject({ error: { code: 'invalid_value' } });
    const large = 'x'.repeat(64 * 1024 + 1);
    expect((await post(large, signEvent(large))).status).toBe(413);
    expect((await gateway.call('/webhooks/stripe', { apiKey: null })).status).toBe(405);
    expect(await gateway.services.store.getCardPayment(id)).toMatchObject({ state: 'open' });
  });

  it('keeps no memory of customers for events whose body never comes', async () => {
    const { port } = new URL(gateway.url);
    const head =
      'POST /webhooks/stripe HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n';
    const sockets = Array.from({ length: 8 }, () => connect(Number(port)));
    onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
    for (const socket of sockets) {
      socket.write(head);
      await once(socket, 'data');
    }
    expect(gateway.services.bodyMemory.usage()).toEqual({ usedBytes: 0, waiting: 0 });
  });

  it('answers an event of another kind, or of another gateway, and does nothing', async () => {
    const events = [
      stripe.note('customer.created', { id: 'cus_1', object: 'customer' }),
      stripe.note('charge.refunded', { id: 'ch_1', object: 'charge', payment_intent: 'pi_other' }),
      stripe.note('checkout.session.completed', {
        id: 'cs_other',
        object: 'checkout.session',
        metadata: { card_payment: 'another' },
      }),
    ];
    const before = stripe.asked.length;
    for (const event of events) expect((await stripe.deliver(event, gateway.url)).status).toBe(200);
    expect(stripe.asked).toHaveLength(before);
  });

  it('refuses amounts that are not sold, and too many pages', async () => {
    const refused = await gateway.call('/v1/balance/checkout', { body: { amount_usd: '0.99' } });
    expect(refused.status).toBe(422);
    expect(JSON.stringify(await refused.json())).toContain('1.00 to 1000.00');
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => gateway.call('/v1/balance/checkout', { body: { amount_usd: 1 } })),
    );
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(2);
  });
});

describe('a gateway without Stripe', () => {
  it('has neither the call nor the address for events', async () => {
    const gateway = await startTestGateway();
    const answers = [
      await gateway.call('/v1/balance/checkout', { body: { amount_usd: '5.00' } }),
      await gateway.call('/webhooks/stripe', { body: {} }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    await gateway.stop();
  });
});
