import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/kit/ids.ts';
import type { Store } from '../../../src/store/store.ts';
import { testEngines } from '../../store/open-test-store.ts';
import { minute, until, usd, useCardDesk } from './card-desk.ts';

/** A store whose process dies at a command: before it is committed, or after. From then on nothing is written. */
const dying = (store: Store, command: keyof Store | null, when: 'before' | 'after') => {
  const death = Promise.withResolvers<void>();
  let isDead = false;
  const die = (): never => {
    isDead = true;
    death.resolve();
    throw new Error('the process was killed');
  };
  const mortal = new Proxy(store, {
    get: (target, name: keyof Store) => {
      const call = target[name];
      if (typeof call !== 'function') return call;
      return async (...input: never[]): Promise<unknown> => {
        if (isDead || (name === command && when === 'before')) die();
        const answer = await Reflect.apply(call, target, input);
        return name === command && (name !== 'changeCardPayment' || answer !== null) ? die() : answer;
      };
    },
  });
  return { store: mortal, died: death.promise, die };
};

describe.each(testEngines())('an automatic top-up whose gateway is killed, on $kind', ({ create }) => {
  const desk = useCardDesk(create);
  const { stripe, accountId, take, balance } = desk;

  const arm = async (): Promise<void> => {
    const order = { below: usd(500), amount: usd(1_000), monthlyCap: usd(3_000) };
    await desk.store().setAutoTopUp({ accountId: accountId(), ...order });
    const { session } = await desk.buy({ savesCard: true });
    await take(stripe().complete(session));
    const entry = { id: newId(), accountId: accountId(), type: 'adjustment', note: null } as const;
    await desk.store().postEntry({ ...entry, amount: -usd(1_800), now: desk.now() });
  };
  const attempts = async () =>
    (await desk.store().listCardPayments({ accountId: accountId(), before: null, limit: 9 })).filter(
      ({ kind }) => kind === 'automatic',
    );
  const paid = () =>
    until(async () => expect(await attempts()).toMatchObject([{ state: 'paid', credited: usd(1_000) }]));

  const steps = [
    ['after the attempt was written down', 'openAutoTopUp', 'after'],
    ['after Stripe has charged, and before it has answered', null, 'after'],
    ['before the outcome is written down', 'changeCardPayment', 'before'],
    ['after the outcome was written down', 'changeCardPayment', 'after'],
  ] as const;
  const cases = steps.flatMap(([what, command, when]) =>
    [true, false].map((hasEvents) => ({ what, command, when, hasEvents })),
  );

  it.each(cases)(
    '$what is charged once and credited once (events arrive: $hasEvents)',
    async ({ command, when, hasEvents }) => {
      await arm();
      const killed = dying(desk.store(), command, when);
      if (command === null)
        stripe().state.loses = (request) => {
          if (request === 'POST /v1/payment_intents') expect(killed.die).toThrow('killed');
          return request === 'POST /v1/payment_intents';
        };
      desk.begin(desk.open(killed.store));
      await killed.died;
      await desk.end();
      stripe().state.loses = () => false;
      if (!hasEvents) stripe().events.length = 0;
      desk.pass(2 * minute);
      desk.begin(...desk.stores().map((store) => desk.open(store)));
      await paid();
      await desk.end();
      expect(stripe().charges).toHaveLength(1);
      expect(await balance()).toBe(usd(1_200));
      desk.pass(20 * minute);
      const before = stripe().asked.length;
      desk.begin(...desk.stores().map((store) => desk.open(store)));
      await until(() => expect(stripe().asked.slice(before)).toContain('GET /v1/events'));
      await desk.end();
      expect(stripe().charges).toHaveLength(1);
      expect(await balance()).toBe(usd(1_200));
    },
  );

  it('is settled by asking when every answer of Stripe is lost, however long', async () => {
    await arm();
    stripe().state.loses = (request) => request === 'POST /v1/payment_intents';
    desk.begin();
    await until(() => expect(stripe().charges).toHaveLength(1));
    await desk.end();
    stripe().events.length = 0;
    desk.pass(26 * 60 * minute);
    desk.begin();
    await paid();
    expect(stripe().charges).toHaveLength(1);
    expect(await balance()).toBe(usd(1_200));
  });

  it('is over when it was never sent in time, and the next attempt is another one', async () => {
    await arm();
    const killed = dying(desk.store(), 'openAutoTopUp', 'after');
    desk.begin(desk.open(killed.store));
    await killed.died;
    await desk.end();
    desk.pass(16 * minute);
    desk.begin();
    await until(async () => expect(await attempts()).toMatchObject([{ state: 'expired' }]));
    await desk.end();
    expect(stripe().charges).toEqual([]);
    desk.begin();
    await until(async () => expect(await balance()).toBe(usd(1_200)));
    expect(stripe().charges).toHaveLength(1);
  });

  it('is not sent any more when the customer has ended it meanwhile', async () => {
    await arm();
    const killed = dying(desk.store(), 'openAutoTopUp', 'after');
    desk.begin(desk.open(killed.store));
    await killed.died;
    await desk.end();
    await desk.open(desk.store()).endAutoTopUp(accountId());
    desk.pass(2 * minute);
    const before = stripe().asked.length;
    desk.begin();
    await until(() => expect(stripe().asked.slice(before)).toContain('GET /v1/payment_intents'));
    await desk.end();
    desk.pass(16 * minute);
    desk.begin();
    await until(async () => expect(await attempts()).toMatchObject([{ state: 'expired' }]));
    expect(stripe().charges).toEqual([]);
  });

  it('is credited when its event comes after it was given up', async () => {
    await arm();
    const killed = dying(desk.store(), 'openAutoTopUp', 'after');
    desk.begin(desk.open(killed.store));
    await killed.died;
    await desk.end();
    const [attempt] = await attempts();
    if (attempt === undefined) throw new Error('no attempt');
    await desk.store().changeCardPayment({
      ...attempt,
      state: 'expired',
      savedCard: null,
      failedFor: null,
      now: desk.now(),
    });
    const intent = stripe().charge({ payment: attempt.id, cents: 1_000, customer: String(attempt.customer) });
    await Promise.all([take(intent), take(intent)]);
    expect(await attempts()).toMatchObject([{ state: 'paid' }]);
    expect(await balance()).toBe(usd(1_200));
  });
});
