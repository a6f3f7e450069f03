import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/kit/ids.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import { createAccountLimiter } from '../../../src/limits/minute-limit.ts';
import { getStatement } from '../../../src/operations/account/get-statement.ts';
import { createHistoryCursors } from '../../../src/operations/account/history-cursor.ts';
import type { AccountCall } from '../../../src/operations/call.ts';
import type { Store } from '../../../src/store/store.ts';
import { addAccount, type Owner } from '../../store/builders.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';

const months = ['2026-09', '2026-10', '2026-11'] as const;
const begin = Date.UTC(2026, 8);
const end = Date.UTC(2026, 11);

interface Statement {
  opening_balance_usd: string;
  closing_balance_usd: string;
  data: { id: string; amount_usd: string; balance_usd: string }[];
  next_cursor: string | null;
}

describe.each(testEngines())('a statement on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterAll(() => data.remove());

  const ask = (
    { accountId }: Owner,
    asked: { month: string; format?: 'json' | 'csv'; cursor?: string | undefined },
    accountLimiter = createAccountLimiter({ redis: null }),
  ) =>
    getStatement.sale.handle({ format: 'json', ...asked }, { caller: { accountId } } as AccountCall, {
      store,
      clock: { now: () => end - 1 },
      historyCursors: createHistoryCursors('secret'),
      accountLimiter,
    });
  const read = async (owner: Owner, month: string, cursor?: string): Promise<Statement> => {
    const answer = await ask(owner, { month, cursor });
    if (answer.kind !== 'json') throw new Error(answer.kind);
    return answer.body as unknown as Statement;
  };
  const readCsv = async (owner: Owner, month: string): Promise<string[][]> => {
    const answer = await ask(owner, { month, format: 'csv' });
    if (answer.kind !== 'file') throw new Error(answer.kind);
    let text = '';
    for await (const part of answer.parts) text += part;
    return text
      .split('\r\n')
      .slice(0, -1)
      .map((line) => line.split(','));
  };
  const sum = (amounts: readonly string[]): bigint =>
    amounts.reduce((total, amount) => total + parseUsd(amount), 0n);

  it('adds up: opening and entries are the closing, which opens the next month, up to the balance', async () => {
    const entry = fc.record({
      amount: fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }).filter((amount) => amount !== 0n),
      at: fc.oneof(
        fc.integer({ min: begin, max: end - 1 }),
        fc.constantFrom(begin, Date.UTC(2026, 9), Date.UTC(2026, 9) - 1, Date.UTC(2026, 10)),
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 12 }), async (entries) => {
        const owner = await addAccount(store, { balance: 0n });
        for (const { amount, at: now } of entries)
          await store.postEntry({
            id: newId(),
            accountId: owner.accountId,
            type: 'adjustment',
            amount,
            note: null,
            now,
          });
        let balance = '0.00';
        for (const month of months) {
          const statement = await read(owner, month);
          expect(statement.opening_balance_usd).toBe(balance);
          const changes = statement.data.map(({ amount_usd: amount }) => amount);
          balance = statement.closing_balance_usd;
          expect(sum([statement.opening_balance_usd, ...changes])).toBe(parseUsd(balance));
          const lines = await readCsv(owner, month);
          expect(lines.slice(2, -1).map((line) => line.slice(-3))).toEqual(
            statement.data.map((one) => [one.id, one.amount_usd, one.balance_usd]),
          );
          expect(lines.at(-1)).toEqual(expect.arrayContaining(['closing_balance', balance]));
        }
        expect((await store.getAccount(owner.accountId))?.balance).toBe(parseUsd(balance));
      }),
      { numRuns: 15 },
    );
  });

  it('of many entries at one time comes in pages, and as one file, with each entry once', async () => {
    const owner = await addAccount(store, { balance: 0n });
    const at = Date.UTC(2026, 9, 5);
    const rows = Array.from(
      { length: 2_300 },
      (_, index) => `('${newId()}', '${owner.accountId}', 'topup', ${index + 1}, ${at})`,
    );
    await data.sql(
      `insert into ledger_entries (id, account_id, type, amount, created_at) values ${rows.join(', ')}`,
      `update accounts set balance = ${(2_300 * 2_301) / 2} where id = '${owner.accountId}'`,
    );
    const pages: Statement[] = [];
    for (let cursor: string | undefined; pages.length < 3; cursor = pages.at(-1)?.next_cursor ?? undefined)
      pages.push(await read(owner, '2026-10', cursor));
    expect(pages.map((page) => page.data.length)).toEqual([1_000, 1_000, 300]);
    expect(pages[2]?.next_cursor).toBeNull();
    for (const [index, page] of pages.slice(1).entries())
      expect(page.opening_balance_usd).toBe(pages[index]?.closing_balance_usd);
    const all = pages.flatMap((page) => page.data);
    expect(new Set(all.map(({ id }) => id)).size).toBe(2_300);
    expect(pages[2]?.closing_balance_usd).toBe('0.00264615');
    const lines = await readCsv(owner, '2026-10');
    expect(lines.slice(2, -1).map((line) => line.at(-1))).toEqual(all.map((one) => one.balance_usd));
  });

  it('is bound to its month and account, and to a number a minute', async () => {
    const [owner, other] = await Promise.all([addAccount(store), addAccount(store)]);
    const cursor = createHistoryCursors('secret').write(
      { createdAt: begin, id: `x/${10n ** 15n}` },
      { accountId: owner.accountId, list: 'statement 2026-09' },
    );
    expect((await read(owner, '2026-09', cursor)).opening_balance_usd).toBe('1000000.00');
    const refused = { code: 'invalid_cursor' };
    await expect(read(owner, '2026-10', cursor)).rejects.toMatchObject(refused);
    await expect(read(other, '2026-09', cursor)).rejects.toMatchObject(refused);
    await expect(read(owner, '2026-12')).rejects.toMatchObject({ code: 'invalid_parameter', param: 'month' });
    const limiter = createAccountLimiter({ redis: null });
    for (let count = 0; count < 10; count += 1) await ask(owner, { month: '2026-09' }, limiter);
    await expect(ask(owner, { month: '2026-09' }, limiter)).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
    });
  });
});
