import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { addPayment, addRefund, base, bnb, documents, embedded, settleRefund } from './payment-operator.ts';

describe('sums', () => {
  const day = (text: string): number => Date.parse(`${text}T12:00:00Z`);

  it('are exact, by network and day, with totals of tokens of 6 and of 18 decimals', async () => {
    const { store, operator } = await embedded();
    await addPayment(store, 'delivered', { amount: 100_001n, now: day('2026-10-01') });
    const given = await addPayment(store, 'settled', { amount: 300_000n, now: day('2026-10-31') });
    await addPayment(store, 'delivered', { ...bnb, amount: 10n ** 17n + 1n, now: day('2026-10-31') });
    await addPayment(store, 'delivered', { amount: 7n, now: day('2026-11-01') });
    await addPayment(store, 'unknown', { amount: 7n, now: day('2026-10-31') });
    await settleRefund(store, await addRefund(store, given, 50_000n), day('2026-10-31'));
    const sums = await operator.answer(z.unknown(), 'sums', '--from', '2026-10-01', '--to', '2026-10-31');
    expect(sums).toMatchObject({
      from: '2026-10-01',
      to: '2026-10-31',
      sums: [
        { network: bnb.network, day: '2026-10-31', received_usd: '0.100000000000000001', payments: 1 },
        { network: base.network, day: '2026-10-01', received_usd: '0.100001', refunded_usd: '0.00' },
        {
          network: base.network,
          day: '2026-10-31',
          received_usd: '0.30',
          refunded_usd: '0.05',
          net_usd: '0.25',
        },
      ],
      by_network: [
        { network: bnb.network, net_usd: '0.100000000000000001' },
        { network: base.network, received_usd: '0.400001', refunds: 1, net_usd: '0.350001' },
      ],
      total: {
        payments: 3,
        received_usd: '0.500001000000000001',
        refunded_usd: '0.05',
        net_usd: '0.450001000000000001',
      },
    });
    const { stdout } = await operator.print('sums', '--from', '2026-10-01', '--to', '2026-10-31');
    expect(stdout).toContain('all networks');
    expect(stdout).toContain('0.450001000000000001');
  });

  it('leave out a token of unknown worth, and say so', async () => {
    const { store, operator } = await embedded();
    await addPayment(store, 'delivered', { asset: '0xother', amount: 5n });
    await addPayment(store, 'delivered');
    const { stdout, stderr } = await operator.print('sums');
    expect(stdout).toMatch(/all networks\s+all days\s+1\s+0\.10/);
    expect(stdout).toContain('5 units');
    expect(stderr).toContain('leave out 1 row');
    const told = await operator.print('sums', '--json');
    expect(told.exitCode).toBe(1);
    expect(JSON.parse(told.stdout)).toMatchObject({
      total: { payments: 1 },
      left_out: [{ asset: '0xother', payments: 1, received_units: '5' }],
    });
  });

  it.each([
    [['--from', '2026-02-30'], 'must be a day'],
    [['--to', 'yesterday'], 'must be a day'],
    [['--from', '2026-10-02', '--to', '2026-10-01'], 'before the first'],
  ])('of days such as %j are refused', async (args, message) => {
    const { operator } = await embedded();
    const refusal = await operator.refusal('sums', ...args);
    expect([refusal.exitCode, refusal.code]).toEqual([2, 'invalid_usage']);
    expect(refusal.message).toContain(message);
  });
});

describe('an export', () => {
  it('has every settled payment once over many pages, oldest first, and what was given back', async () => {
    const { store, operator, dataDir } = await embedded();
    const now = Date.now();
    // Two settle in each millisecond, so that pages end between equals.
    const payments = [];
    for (let index = 0; index < 230; index += 1)
      payments.push(await addPayment(store, 'delivered', { now: now + Math.floor(index / 2) }));
    const [first] = payments;
    const transactions = [
      await settleRefund(store, await addRefund(store, first!, 10_000n)),
      await settleRefund(store, await addRefund(store, first!, 20_000n)),
    ];
    await addRefund(store, first!, 30_000n);
    const output = join(dataDir, 'payments.csv');
    const exported = await operator.answer(documents.exported, 'export', '--output', output);
    expect(exported).toEqual({ file: output, payments: 230 });
    const text = await readFile(output, 'utf8');
    const [header, ...lines] = text.split('\r\n');
    expect(header).toBe(
      'settled_at,network,asset,amount,payer,pay_to,transaction,state,refunded,refund_transactions,payment',
    );
    expect(lines.pop()).toBe('');
    const identities = lines.map((line) => line.split(',').at(-1));
    expect(new Set(identities)).toEqual(new Set(payments.map(({ identity }) => identity)));
    expect(identities).toHaveLength(230);
    const times = lines.map((line) => Date.parse(line.split(',')[0] ?? ''));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const ofFirst = lines.find((line) => line.endsWith(first!.identity))?.split(',');
    expect(ofFirst?.slice(1, 4)).toEqual([base.network, base.asset, '0.10']);
    expect(ofFirst?.[8]).toBe('0.03');
    expect(ofFirst?.[9]?.split(' ').toSorted()).toEqual(transactions.toSorted());
    expect((await stat(output)).mode & 0o777).toBe(0o600);
    const printed = await operator.print('export');
    expect([printed.exitCode, printed.stdout]).toEqual([0, text]);
  });

  it('never writes over a file, and leaves no part of one behind', async () => {
    const { store, operator, dataDir } = await embedded();
    await addPayment(store, 'delivered');
    const output = join(dataDir, 'mine.csv');
    await writeFile(output, 'mine');
    expect(await operator.refusal('export', '--output', output)).toMatchObject({
      code: 'file_exists',
      exitCode: 1,
    });
    expect(await readFile(output, 'utf8')).toBe('mine');
    expect(await operator.refusal('export', '--output', join(dataDir, 'no/such.csv'))).toMatchObject({
      code: 'file_failed',
    });
    expect(await operator.refusal('export')).toMatchObject({ code: 'invalid_usage', exitCode: 2 });
    expect((await readdir(dataDir)).filter((name) => name.includes('.csv'))).toEqual(['mine.csv']);
  });

  it('quotes what CSV and spreadsheets would take for something else', async () => {
    const { store, operator } = await embedded();
    await addPayment(store, 'delivered', {
      payTo: 'a "wallet", of\nours',
      set: { payer: '=HYPERLINK("http://example.com")' },
    });
    const { stdout } = await operator.print('export');
    expect(stdout).toContain(`"'=HYPERLINK(""http://example.com"")","a ""wallet"", of\nours",`);
  });
});
