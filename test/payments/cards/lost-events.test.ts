import { describe, expect, it } from 'vitest';
import { testEngines } from '../../store/open-test-store.ts';
import { day, until, usd, useCardDesk } from './card-desk.ts';

const engines = testEngines();

describe.each(engines)('payments by card whose events were lost, on $kind', ({ create }) => {
  const desk = useCardDesk(create);
  const { buy, take, begin, read, balance } = desk;

  it('are credited after an outage in which Stripe forgot the events', async () => {
    const { id, session } = await buy();
    desk.stripe().complete(session);
    desk.stripe().events.length = 0;
    desk.pass(31 * day);
    begin();
    await until(async () => expect(await read(id)).toMatchObject({ state: 'paid' }));
    expect(await balance()).toBe(usd(2_000));
  });

  it('are no longer asked about, when their page has ended unpaid', async () => {
    const { id, session } = await buy();
    desk.stripe().expire(session);
    desk.stripe().events.length = 0;
    desk.pass(2 * day);
    begin();
    await until(async () => expect(await read(id)).toMatchObject({ state: 'expired' }));
  });

  it('are asked about for 30 days, when Stripe does not know them, as after a change of its account', async () => {
    const { id } = await buy();
    desk.stripe().sessions.clear();
    desk.pass(2 * day);
    const before = desk.stripe().asked.length;
    begin();
    await until(() =>
      expect(desk.stripe().asked.slice(before).join()).toContain('GET /v1/checkout/sessions/'),
    );
    await desk.end();
    expect(await read(id)).toMatchObject({ state: 'open' });
    desk.pass(31 * day);
    begin();
    await until(async () => expect(await read(id)).toMatchObject({ state: 'expired' }));
  });

  it('are over, when the page was never opened', async () => {
    desk.stripe().state.isDown = true;
    await expect(buy()).rejects.toMatchObject({ status: 502 });
    desk.stripe().state.isDown = false;
    const filter = { accountId: desk.accountId(), before: null, limit: 9 };
    const [row] = await desk.store().listCardPayments(filter);
    desk.pass(2 * day);
    begin();
    await until(async () => expect(await read(String(row?.id))).toMatchObject({ state: 'expired' }));
  });

  it('lose no refund among the many that came since an event that Stripe has forgotten', async () => {
    const { id, session } = await buy();
    await take(desk.stripe().complete(session));
    await desk.store().noteCardEvent({ name: 'test', last: 'evt_forgotten' });
    desk.stripe().refund(session, 500);
    for (let index = 0; index < 230; index += 1)
      desk.stripe().note('charge.refunded', { object: 'charge', payment_intent: 'pi_of_others' });
    begin();
    await until(async () => expect(await read(id)).toMatchObject({ kept: usd(1_500) }));
    const newest = desk.stripe().events.at(-1)?.id;
    await until(async () => expect(await desk.store().findCardEvent('test')).toBe(newest));
  });

  it('hold up no other while Stripe fails about one, which is credited later', async () => {
    const [other, broken] = [await buy(), await buy()];
    for (const { session } of [other, broken]) desk.stripe().complete(session);
    desk.stripe().state.loses = (request) => request.endsWith(broken.session.id);
    begin();
    await until(async () => expect(await read(other.id)).toMatchObject({ state: 'paid' }));
    await desk.end();
    expect(await read(broken.id)).toMatchObject({ state: 'open' });
    desk.stripe().state.loses = () => false;
    begin();
    await until(async () => expect(await read(broken.id)).toMatchObject({ state: 'paid' }));
  });

  it('stay paid when somebody changes their metadata at Stripe, and follow the next refund', async () => {
    const { id, session } = await buy();
    await take(desk.stripe().complete(session));
    session.metadata = {};
    await take(desk.stripe().refund(session, 500));
    expect(await read(id)).toMatchObject({ state: 'paid', kept: usd(1_500) });
  });

  it('lose what a prevented dispute has taken, and not what it has given back', async () => {
    const { id, session } = await buy();
    await take(desk.stripe().complete(session));
    const { dispute } = desk.stripe().dispute(session, 2_000);
    await take(desk.stripe().close(dispute, 'prevented'));
    expect(await read(id)).toMatchObject({ kept: 0n });
    dispute.balance_transactions = [];
    await take(desk.stripe().close(dispute, 'prevented'));
    expect(await read(id)).toMatchObject({ kept: usd(2_000) });
  });
});
