import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Payment } from '../../../src/store/store.ts';
import { newPayment } from '../../store/builders.ts';
import { temporaryDataFolder, temporaryFolder } from '../run-cli.ts';
import { createTestDatabase } from '../test-database.ts';
import {
  addPayment,
  addRefund,
  base,
  bnb,
  documents,
  embedded,
  openGateway,
  operatorOf,
  payer,
  settleRefund,
} from './payment-operator.ts';

const minute = 60_000;

const identitiesOf = ({ payments }: { payments: { payment: string }[] }): string[] =>
  payments.map(({ payment }) => payment);

const identitiesOfRows = (payments: Payment[]): string[] => payments.map(({ identity }) => identity);

const stores = [
  {
    kind: 'the embedded store',
    open: async () => ({ DATA_DIR: await temporaryDataFolder() }),
  },
  {
    kind: 'PostgreSQL',
    open: async () => {
      const database = await createTestDatabase();
      if (database === null) return null;
      onTestFinished(() => database.drop());
      return { DATABASE_URL: database.url, DATA_DIR: await temporaryFolder() };
    },
  },
];

describe.each(stores)('on $kind', ({ open }) => {
  it('payments are listed, found and told of, with what is stuck', async (context) => {
    const env = await open();
    if (env === null) {
      context.skip();
      return;
    }
    const store = await openGateway(env);
    const operator = operatorOf({ ...env });
    const now = Date.now();
    const delivered = await addPayment(store, 'delivered', { now: now - 5_000, set: {} });
    const unknown = await addPayment(store, 'unknown', {
      now: now - 4_000,
      set: { reason: 'not_confirmed' },
    });
    const young = await addPayment(store, 'broadcasting', { now: now - 3_000 });
    const old = await addPayment(store, 'produced', {
      ...bnb,
      amount: 10n ** 17n,
      now: now - 16 * minute,
      set: { result: '{"secret":"Müller"}' },
    });
    const open_ = await addRefund(store, delivered, 30_000n);

    const all = await operator.answer(documents.list, 'list');
    expect(identitiesOf(all)).toEqual([young, unknown, delivered, old].map(({ identity }) => identity));
    expect(all.payments.map(({ amount }) => amount)).toEqual(['0.10', '0.10', '0.10', '0.10']);
    const page = await operator.answer(documents.list, 'list', '--limit', '2');
    expect([identitiesOf(page), page.has_more]).toEqual([[young.identity, unknown.identity], true]);
    const onBnb = await operator.answer(documents.list, 'list', '--network', 'bsc');
    expect([identitiesOf(onBnb), onBnb.has_more]).toEqual([[old.identity], false]);
    const inStates = await operator.answer(documents.list, 'list', '--state', 'unknown', 'delivered');
    expect(identitiesOf(inStates)).toEqual([unknown.identity, delivered.identity]);
    const stuck = await operator.answer(documents.list, 'list', '--stuck');
    expect(identitiesOf(stuck)).toEqual([unknown.identity, old.identity]);
    expect(stuck.refunds).toMatchObject([{ refund: open_, state: 'planned', amount: '0.03' }]);

    for (const name of [
      delivered.identity,
      delivered.identity.toUpperCase(),
      delivered.identity.slice(0, -3),
      delivered.identity.split(':').at(-1)?.slice(0, 12) ?? '',
      delivered.transaction ?? '',
      delivered.transaction?.slice(0, 12) ?? '',
    ]) {
      const shown = await operator.answer(documents.shown, 'show', name);
      expect(shown.payment.payment).toBe(delivered.identity);
      expect(shown.refunds).toMatchObject([{ refund: open_ }]);
    }
    const shown = await operator.answer(documents.shown, 'show', old.identity);
    expect(shown).toMatchObject({ payment: { result_bytes: 20, state: 'produced' }, refunds: [] });
    const text = await operator.print('show', old.identity);
    expect(text.stdout).toContain('20 bytes');
    expect(text.stdout + JSON.stringify(shown)).not.toMatch(/Müller|"nonce"|signature/);
    expect(await operator.refusal('show', base.network)).toMatchObject({ code: 'payment_ambiguous' });
    expect(await operator.refusal('show', 'nothing')).toMatchObject({
      code: 'payment_not_found',
      exitCode: 1,
    });
    expect(await operator.refusal('show', '0x')).toMatchObject({ code: 'payment_not_found' });
    const planned = await operator.answer(documents.refunds, 'refunds');
    expect(planned.refunds).toMatchObject([{ refund: open_, note: '=1+1' }]);

    await operator.answer(documents.canceled, 'cancel-refund', open_);
    expect(await operator.refusal('cancel-refund', open_)).toMatchObject({ code: 'refund_conflict' });
    expect(await operator.refusal('cancel-refund', randomUUID())).toMatchObject({ code: 'refund_not_found' });
    expect((await operator.answer(documents.refunds, 'refunds')).refunds).toEqual([]);
    const ended = await operator.answer(documents.refunds, 'refunds', delivered.identity);
    expect(ended.refunds).toMatchObject([{ state: 'failed', reason: 'canceled' }]);
    const stillOpen = await operator.answer(documents.refunds, 'refunds', delivered.identity, '--open');
    expect(stillOpen.refunds).toEqual([]);
  });
});

describe('a long list', () => {
  it('is had page by page, of a network and of what is stuck too', async () => {
    const { store, operator } = await embedded();
    const now = Date.now();
    const added: Payment[] = [];
    for (let index = 0; index < 7; index += 1)
      added.push(
        await addPayment(store, index % 2 === 0 ? 'unknown' : 'broadcasting', {
          ...(index < 3 ? bnb : base),
          now: now - 60 * minute - index,
        }),
      );
    const all = identitiesOfRows(added);
    const walk = async (...args: string[]): Promise<string[]> => {
      const seen: string[] = [];
      for (;;) {
        const last = seen.at(-1);
        const page = await operator.answer(
          documents.list,
          'list',
          '--limit',
          '2',
          ...args,
          ...(last === undefined ? [] : ['--before', last]),
        );
        seen.push(...identitiesOf(page));
        if (!page.has_more) return seen;
      }
    };
    expect(await walk()).toEqual(all);
    expect(await walk('--stuck')).toEqual(all);
    expect(await walk('--network', 'bsc')).toEqual(all.slice(0, 3));
    expect(await walk('--stuck', '--state', 'broadcasting', '--network', 'base-sepolia')).toEqual(
      [added[3], added[5]].map((payment) => payment?.identity),
    );
    expect(await operator.refusal('list', '--before', 'nothing')).toMatchObject({
      code: 'payment_not_found',
    });
    const { stderr } = await operator.print('list', '--limit', '2');
    expect(stderr).toContain(`--before ${all[1]}`);
  });

  it('is whole, where it is longer than what is read at once', async () => {
    const { store, operator } = await embedded();
    const old = await addPayment(store, 'delivered', { ...bnb, now: Date.now() - minute });
    await Promise.all(Array.from({ length: 201 }, () => addPayment(store, 'delivered')));
    const listed = await operator.answer(documents.list, 'list', '--limit', '202');
    expect(new Set(identitiesOf(listed)).size).toBe(202);
    expect([listed.payments.at(-1)?.payment, listed.has_more]).toEqual([old.identity, false]);
    const shorter = await operator.answer(documents.list, 'list', '--limit', '201');
    expect([shorter.payments.length, shorter.has_more]).toEqual([201, true]);
  });

  it('of all refunds goes from the newest to the oldest, whatever became of them', async () => {
    const { store, operator } = await embedded();
    const now = Date.now();
    const payment = await addPayment(store, 'delivered');
    const [first, second, third] = [
      await addRefund(store, await addPayment(store, 'delivered'), 1n, now - 3),
      await addRefund(store, payment, 1n, now - 2),
      await addRefund(store, await addPayment(store, 'delivered'), 1n, now - 1),
    ];
    await settleRefund(store, second);
    const list = async (...args: string[]) => {
      const { refunds, has_more } = await operator.answer(documents.refunds, 'refunds', ...args);
      return [refunds.map(({ refund }) => refund), has_more];
    };
    expect(await list('--all')).toEqual([[third, second, first], false]);
    expect(await list('--all', '--limit', '2')).toEqual([[third, second], true]);
    expect(await list('--before', second)).toEqual([[first], false]);
    expect(await list()).toEqual([[first, third], false]);
    const { stderr } = await operator.print('refunds', '--all', '--limit', '2');
    expect(stderr).toContain(`--before ${second}`);
    expect(await operator.refusal('refunds', '--before', randomUUID())).toMatchObject({
      code: 'refund_not_found',
    });
    for (const args of [
      ['--all', '--open'],
      [payment.identity, '--all'],
      [payment.identity, '--before', second],
    ])
      expect(await operator.refusal('refunds', ...args)).toMatchObject({
        code: 'invalid_usage',
        exitCode: 2,
      });
  });
});

describe('the refunds of a payment', () => {
  it('without an end are found behind any number of others', async () => {
    const { store, operator } = await embedded();
    const payment = await addPayment(store, 'delivered');
    await settleRefund(store, await addRefund(store, payment, 1n));
    await settleRefund(store, await addRefund(store, payment, 1n));
    const open = await addRefund(store, payment, 1n);
    const args = ['refunds', payment.identity, '--open', '--limit', '1'];
    const listed = await operator.answer(documents.refunds, ...args);
    expect([listed.refunds.map(({ refund }) => refund), listed.has_more]).toEqual([[open], false]);
  });
});

describe('a payment is named', () => {
  it('by its whole nonce, though another one’s begins with it', async () => {
    const { store, operator } = await embedded();
    const prefix = `${bnb.network}:0xpermit2:${payer}:`.toLowerCase();
    for (const nonce of ['12345678', '123456789'])
      await store.reservePayment(newPayment({ ...bnb, identity: `${prefix}${nonce}` }));
    const shown = await operator.answer(documents.shown, 'show', '12345678');
    expect(shown.payment.payment).toBe(`${prefix}12345678`);
    expect(await operator.refusal('show', '1234567')).toMatchObject({ code: 'payment_ambiguous' });
  });

  it('by its transaction in either case, unless that moved others, too', async () => {
    const { store, operator } = await embedded();
    const transaction = `0x${'Ab'.repeat(32)}`;
    const { identity } = await addPayment(store, 'delivered', { set: { transaction } });
    for (const name of [transaction, transaction.toLowerCase(), transaction.toUpperCase()])
      expect((await operator.answer(documents.shown, 'show', name)).payment.payment).toBe(identity);
    const other = await addPayment(store, 'delivered', { set: { transaction: transaction.toLowerCase() } });
    const refusal = await operator.refusal('show', transaction);
    expect(refusal.code).toBe('payment_ambiguous');
    expect(refusal.message).toContain(identity);
    expect(refusal.message).toContain(other.identity);
  });
});

describe('every state', () => {
  it.each([
    ['reserved', /Nothing was charged/],
    ['verified', /Nothing was charged/],
    ['produced', /not charged for yet/],
    ['broadcasting', /may have been sent/],
    ['unknown', /may have been charged.*strange_reason/],
    ['settled', /chain has the payment/],
    ['delivered', /buyer was answered/],
    ['rejected', /refused \(strange_reason\)/],
    ['failed', /proven that the buyer was not charged/],
  ] as const)('is told in words: %s', async (state, words) => {
    const { store, operator } = await embedded();
    const { identity } = await addPayment(store, state, { set: { reason: 'strange_reason' } });
    const { happened, advice } = await operator.answer(documents.shown, 'show', identity);
    expect(happened).toMatch(words);
    expect(advice).toMatch(/\.$|"\.$/);
  });
});
