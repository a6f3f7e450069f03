import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest';
import { newId } from '../../../src/kit/ids.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { nanoPerUsd } from '../../../src/kit/money.ts';
import { createCards, type CardOrder, type Cards } from '../../../src/payments/cards/create-cards.ts';
import type { CardPayment, Store } from '../../../src/store/store.ts';
import { assertSoundBooks, available } from '../../store/builders.ts';
import type { TestStore } from '../../store/open-test-store.ts';
import {
  signEvent,
  startStripeStub,
  stripeKey,
  stripeWebhookSecret,
  type StripeStub,
  type StubSession,
} from './stripe-stub.ts';
import type { StubEvent } from './stub-intents.ts';

export const until = (check: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: 20_000 });

export const usd = (cents: number): bigint => (BigInt(cents) * nanoPerUsd) / 100n;

export const minute = 60_000;
export const day = 86_400_000;

/** Two gateways of one store that sell by card, a stub of Stripe, and an account for each test. */
export const useCardDesk = (create: () => Promise<TestStore>) => {
  let data: TestStore;
  let stripe: StripeStub;
  let accountId: string;
  let stores: [Store, Store];
  let aheadMs = 0;
  const accounts: string[] = [];
  const running: { stop: AbortController; ended: Promise<void> }[] = [];
  const clock = { now: () => Date.now() + aheadMs };

  const open = (store: Store): Cards =>
    createCards({
      settings: { secretKey: stripeKey, webhookSecret: stripeWebhookSecret, isLive: false },
      store,
      clock,
      log: silentLog,
      goods: 'Causeway balance',
      address: stripe.address,
    });
  const newAccount = async (): Promise<string> => {
    const id = newId();
    await data.store.createAccount({ id, name: 'Acme', status: 'active', isSandbox: true, now: 1 });
    accounts.push(id);
    return id;
  };
  const end = async (): Promise<void> => {
    for (const { stop, ended } of running.splice(0)) {
      stop.abort();
      await ended;
    }
  };
  beforeAll(async () => {
    data = await create();
    stores = [data.store, await data.openAnother()];
  });
  beforeEach(async () => {
    stripe = await startStripeStub();
    stripe.state.now = () => Math.floor(clock.now() / 1_000);
    aheadMs = 0;
    accountId = await newAccount();
  });
  afterEach(async () => {
    await end();
    await stripe.stop();
    // What one test leaves is not the work of the next.
    for (const account of accounts.splice(0)) await data.store.endAutoTopUp(account);
    await assertSoundBooks(data.store);
  });
  afterAll(() => data.remove());

  const buy = async (changes: Partial<CardOrder> = {}): Promise<{ id: string; session: StubSession }> => {
    const order = { accountId, isSandbox: true, amount: usd(2_000), returnUrl: 'https://gateway.example/' };
    const { id } = await open(stores[0]).checkout({ ...order, savesCard: false, ...changes });
    return { id, session: stripe.sessionOf(id) };
  };
  const take = (event: StubEvent): Promise<void> => {
    const body = JSON.stringify(event);
    return open(stores[0]).takeEvent(Buffer.from(body), signEvent(body));
  };
  return {
    store: () => data.store,
    stores: () => stores,
    stripe: () => stripe,
    accountId: () => accountId,
    open,
    newAccount,
    buy,
    take,
    end,
    /** Lets time pass. */
    pass: (ms: number): void => void (aheadMs += ms),
    now: () => clock.now(),
    /** Starts the background work of gateways; by default, of one. */
    begin: (...gateways: Cards[]): void => {
      for (const cards of gateways.length === 0 ? [open(stores[0])] : gateways) {
        const stop = new AbortController();
        running.push({ stop, ended: cards.begin(stop.signal) });
      }
    },
    read: async (id: string): Promise<CardPayment | null> => data.store.getCardPayment(id),
    balance: (account = accountId) => available(data.store, account),
  };
};
